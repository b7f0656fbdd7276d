package document

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Nearest returns the allowed word that was most likely meant by word, if
// there is one that is near enough.
func Nearest(word string, allowed []string) (string, bool) {
	// The same word in another spelling is nearer than any typing error.
	for _, spelling := range []func(string) string{folded, canonical, expanded} {
		for _, a := range allowed {
			if spelling(a) == spelling(word) {
				return a, true
			}
		}
	}
	length := utf8.RuneCountInString(word)
	nearest, least := "", max(1, length/3)+1
	for _, a := range allowed {
		if abs(length-utf8.RuneCountInString(a)) >= least {
			continue // the distance cannot be less, and is costly for long words
		}
		// If every character differs then it is another word.
		if d := distance(folded(word), folded(a)); d < least && d < length {
			nearest, least = a, d
		}
	}
	return nearest, nearest != ""
}

// folded makes words equal that differ in case or in hyphens.
func folded(word string) string {
	return strings.ReplaceAll(strings.ToLower(word), "-", "_")
}

// canonical also makes words equal that differ in the order of their parts, in
// a part that is easily forgotten or in a plural.
func canonical(word string) string {
	parts := strings.Split(folded(word), "_")
	if len(parts) > 1 {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "list" || p == "config" })
	}
	for i, p := range parts {
		if len(p) > 3 {
			parts[i] = strings.TrimSuffix(p, "s")
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "_")
}

// expanded makes the short names of number types equal to the long ones: fp8
// is float8, bf16 is bfloat16.
func expanded(word string) string {
	word = folded(word)
	for short, long := range map[string]string{"fp": "float", "bf": "bfloat"} {
		bits, ok := strings.CutPrefix(word, short)
		if _, err := strconv.Atoi(bits); ok && err == nil {
			return long + bits
		}
	}
	return word
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (the Damerau-Levenshtein distance, in its
// variant that edits no substring twice).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	// Row i holds the distances of x[:i] to all the prefixes of y.
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			substitution := rows[i-1][j-1]
			if x[i-1] != y[j-1] {
				substitution++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, substitution)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}

func abs(n int) int { return max(n, -n) }

// Spelled returns the only allowed word that equals word ignoring case, or word itself.
func Spelled(word string, allowed []string) string {
	found := word
	for _, a := range allowed {
		switch {
		case a == word:
			return word
		case !strings.EqualFold(a, word):
		case found != word:
			return word
		default:
			found = a
		}
	}
	return found
}

// NotOneOf is the message that word is none of the allowed words.
func NotOneOf(word string, allowed []string) string {
	return quote(word) + " is not one of " + QuoteList(allowed) + didYouMean(word, allowed)
}

func QuoteList(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		quoted = append(quoted, strconv.Quote(w))
	}
	return strings.Join(quoted, ", ")
}

// didYouMean is the end of a message about word; it is empty if no allowed
// word is near.
func didYouMean(word string, allowed []string) string {
	if nearest, ok := Nearest(word, allowed); ok {
		return "; did you mean " + strconv.Quote(nearest) + "?"
	}
	return ""
}

// unknownKey is the message that key is none of the allowed keys, and the one
// that was probably meant: the key that goes by this name elsewhere, or the
// nearest.
func unknownKey(key string, allowed []string, aliases map[string]string) (message, meant string) {
	message = "unknown key " + quote(key)
	meant, ok := aliases[key]
	if !ok {
		meant, ok = Nearest(key, allowed)
	}
	switch {
	case ok:
		message += "; did you mean " + strconv.Quote(meant) + "?"
	case len(allowed) == 0:
		message += "; no keys are allowed here"
	default:
		message += "; allowed: " + strings.Join(allowed, ", ")
	}
	return message, meant
}
