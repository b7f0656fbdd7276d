package names

import (
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	numbers   = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)([kK]\b)?`)
	thousands = regexp.MustCompile(`\b[0-9]{1,3}(?:,[0-9]{3})+\b`)
	spread    = regexp.MustCompile(`\s*(?:±|\+/-).*`)
	timed     = regexp.MustCompile(`^~?\s*([0-9.]+)\s*([a-zµ]+)$`)
)

// joined is a text whose numbers have no commas between thousands.
func joined(text string) string {
	return thousands.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ",", "") })
}

// Number is the only number in a text such as "ShareGPT mean 215", "1,024", "~1k" or "300 ± 20";
// else the text as it is.
func Number(text string) string {
	plain := joined(spread.ReplaceAllString(text, ""))
	found := numbers.FindAllStringSubmatch(plain, -1)
	if len(found) != 1 || strings.HasPrefix(text, "-") {
		return text
	}
	if found[0][2] == "" {
		return found[0][1]
	}
	return kilo(found[0][1])
}

// kilo is that many times a thousand, or 1024 of a power of two: 8k is 8192 tokens, 10k 10,000.
func kilo(text string) string {
	n, err := strconv.Atoi(text)
	switch v, _ := strconv.ParseFloat(text, 64); {
	case err != nil || n < 1:
		return strconv.FormatFloat(1000*v, 'f', -1, 64)
	case bits.OnesCount(uint(n)) == 1:
		return strconv.Itoa(1024 * n)
	}
	return strconv.Itoa(1000 * n)
}

// Pair is the two numbers of a text such as 1024/512, 8k1k or "2000 + 100 tokens".
func Pair(text string) (first, second string, ok bool) {
	text = strings.ReplaceAll(strings.ToLower(text), "k", "k ")
	found := numbers.FindAllString(joined(text), -1)
	if len(found) != 2 {
		return "", "", false
	}
	return Number(found[0]), Number(found[1]), true
}

// Empty reports whether a cell says in words that there is nothing.
func Empty(text string) bool {
	return text == "" || slices.Contains(known.Empty, strings.ToLower(strings.TrimSpace(text)))
}

// Rate is a number of requests per second, or inf in any of its words.
func Rate(text string) string {
	if slices.Contains(known.Endless, strings.ToLower(strings.TrimSpace(text))) {
		return "inf"
	}
	return Number(text)
}

// Time is a measured number, and how many of the units of its column its own unit has: 1 where the
// cell says none.
func Time(text string, column Figure) (string, float64) {
	if strings.ContainsAny(text, "<>") {
		return text, 1 // a bound is no measurement
	}
	m := timed.FindStringSubmatch(strings.ToLower(strings.TrimSpace(joined(text))))
	if m != nil && column.isTime() {
		for unit, words := range known.Figures.Units {
			if slices.Contains(words, m[2]) {
				own := Figure{Unit: unit}
				return m[1], own.Milliseconds() / column.Milliseconds()
			}
		}
	}
	return Number(text), 1
}
