// Package names finds what engines, chips, formats, columns and figures are called here, whatever
// a table calls them. All other names are data in names.json, matched by their words: case,
// dashes, brackets, makers, memory sizes and counts do not matter.
package names

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
)

//go:embed names.json
var file []byte

// Name is something that has other names.
type Name struct {
	Name string   `json:"name" required:"true"` // empty: it says nothing
	Also []string `json:"also" required:"true"`
	Note string   `json:"note"` // why it stands for something that there is not; empty: it is the same
	// Around: an engine is in it, whose versions are not its own, as in all with a note.
	Around bool `json:"around"`
	// Devices is how many a chip is to the software that splits models over them; 0: one.
	Devices int `json:"devices" range:"[0,64]"`

	words [][]string // of each other name
}

// Spread is how tables say that lengths are spread; # is a number, * anything.
type Spread struct {
	Words   string `json:"words" required:"true"`
	Lengths string `json:"lengths" required:"true"`
	// Means: the numbers are mean lengths of prompts and outputs, whatever else the table has.
	Means bool `json:"means"`

	match *regexp.Regexp
}

// Flag is a word in the column flags, and what it forbids to compare: a figure, or the whole row.
type Flag struct {
	Flag   string `json:"flag" required:"true"`
	Figure string `json:"figure"`
	Reason string `json:"reason" required:"true"`
}

var known = func() (out struct {
	Engines     []Name              `json:"engines" required:"true"`
	Systems     []Name              `json:"systems" required:"true"`
	SystemWords []string            `json:"system_words" required:"true"`
	Formats     []Name              `json:"formats" required:"true"`
	Columns     map[string][]string `json:"columns" required:"true"`
	CountWords  []string            `json:"count_words" required:"true"`
	UnitWords   []string            `json:"unit_words" required:"true"`
	Packed      []string            `json:"packed" required:"true"`
	Spreads     []Spread            `json:"spreads" required:"true"`
	Figures     vocabulary          `json:"figures" required:"true"`
	Flags       []Flag              `json:"flags" required:"true"`
	Empty       []string            `json:"empty" required:"true"`
	Endless     []string            `json:"endless" required:"true"`
}) {
	doc := document.Parse("names.json", file)
	doc.Decode(&out)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	for _, list := range [][]Name{out.Engines, out.Systems, out.Formats} {
		for i := range list {
			for _, name := range list[i].Also {
				list[i].words = append(list[i].words, split(name))
			}
		}
	}
	for i := range out.Spreads {
		s := &out.Spreads[i]
		pattern := strings.NewReplacer(`#`, `([0-9]+(?:\.[0-9]+)?)`, `\*`, `.*`).Replace(regexp.QuoteMeta(s.Words))
		s.match = regexp.MustCompile(`(?i)` + pattern)
	}
	return out
}()

var (
	word    = regexp.MustCompile(`[a-z0-9$]+(?:\.[0-9]+)*`)
	bracket = regexp.MustCompile(`\([^()]*\)|\[[^\[\]]*\]`)
	mark    = strings.NewReplacer("(r)", " ", "(tm)", " ", "®", " ", "™", " ")
)

// split is the words of a text in lower case.
func split(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }

// find is the name with most of its words in a text, the first of equals, and these words.
func find(list []Name, words []string) (best *Name, matched []string) {
	for i := range list {
		for _, of := range list[i].words {
			joined := strings.Join(of, "")
			switch {
			case len(of) <= len(matched):
			case !slices.ContainsFunc(of, func(w string) bool { return !slices.Contains(words, w) }):
				best, matched = &list[i], of
			case slices.Contains(words, joined): // RTX4090 for RTX 4090
				best, matched = &list[i], append([]string{joined}, of[1:]...)
			}
		}
	}
	return best, matched
}

// Found is what a name means.
type Found struct {
	Name    string // empty: it is not said
	Note    string // what stands in for what, where it does
	Version string // of an engine, with its dots
	Count   int    // of chips; 0: not said
	Watts   int    // that a chip is limited to; 0: not said
	Around  bool   // the name is that of a product around an engine, with versions of its own
}

var dotted = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)+)`)

func Engine(text string) (Found, bool) {
	words := split(text)
	e, _ := find(known.Engines, words)
	if e == nil {
		return Found{}, false
	}
	out := Found{Name: e.Name, Note: e.Note, Around: e.around()}
	for i, w := range words {
		if m := dotted.FindStringSubmatch(w); m != nil && out.Version == "" && !endsAround(words[:i]) {
			out.Version = m[1]
		}
	}
	return out, true
}

// around reports whether a name is of a product whose versions are not those of the engine in it.
func (n *Name) around() bool { return n.Around || n.Note != "" || n.Name == "" }

// endsAround reports whether words end in such a product, so that a version behind them is its own.
func endsAround(words []string) bool {
	for i := range known.Engines {
		e := &known.Engines[i]
		if e.around() && slices.ContainsFunc(e.words, func(of []string) bool {
			return len(of) <= len(words) && slices.Equal(of, words[len(words)-len(of):])
		}) {
			return true
		}
	}
	return false
}

var (
	size    = regexp.MustCompile(`^[0-9]+(?:gb|gib|g)$`)
	watts   = regexp.MustCompile(`^([0-9]{2,4})w$`)
	counted = regexp.MustCompile(`^([0-9]{1,4})x([a-z].*)$`)
	times   = regexp.MustCompile(`^([a-z]+[0-9]+[a-z]*)x([0-9]{1,4})$`)
	count   = regexp.MustCompile(`^(?:([0-9]{1,4})x?|x([0-9]{1,4}))$`)
)

// Devices is how many a chip of a name of the catalogue is to the software.
func Devices(system string) int {
	for i := range known.Systems {
		if known.Systems[i].Name == system {
			return max(1, known.Systems[i].Devices)
		}
	}
	return 1
}

// System is the chip that a text names. Unknown words outside brackets make it another one.
func System(text string) (Found, bool) {
	text = mark.Replace(strings.ToLower(text))
	outside := separate(split(bracket.ReplaceAllString(text, " ")))
	all := separate(split(text))
	s, matched := find(known.Systems, outside)
	if s == nil {
		if s, matched = find(known.Systems, all); s == nil {
			return Found{}, false
		}
	}
	out := Found{Name: s.Name, Note: s.Note}
	for _, w := range all {
		if m := watts.FindStringSubmatch(w); m != nil {
			out.Watts, _ = strconv.Atoi(m[1])
		}
		n := count.FindStringSubmatch(w)
		switch {
		case slices.Contains(matched, w), slices.Contains(known.SystemWords, w), size.MatchString(w), watts.MatchString(w):
		case n != nil:
			out.Count, _ = strconv.Atoi(n[1] + n[2])
		case slices.Contains(outside, w):
			return Found{}, false
		}
	}
	return out, true
}

// separate takes counts off names: 8xH100, 2x8xH100, H100x8.
func separate(words []string) (out []string) {
	for _, w := range words {
		if m := counted.FindStringSubmatch(w); m != nil {
			out = append(out, m[1]+"x")
			out = append(out, separate(m[2:])...)
		} else if m := times.FindStringSubmatch(w); m != nil {
			out = append(out, m[1], "x"+m[2])
		} else {
			out = append(out, w)
		}
	}
	return out
}

// Format is the number format that a text names: the first that it states, outside brackets if
// there is one.
func Format(text string) (Found, bool) {
	text = strings.ToLower(text)
	parts := strings.FieldsFunc(bracket.ReplaceAllString(text, " "), func(r rune) bool { return strings.ContainsRune("/+,;&|", r) })
	for _, part := range append(parts, text) {
		if f, _ := find(known.Formats, split(part)); f != nil {
			return Found{Name: f.Name}, true
		}
	}
	return Found{}, false
}

// Lengths are how lengths are spread by the words of a table, and mean lengths that these hold.
func Lengths(text string) (spread string, means []string, ok bool) {
	for i := range known.Spreads {
		s := &known.Spreads[i]
		m := s.match.FindStringSubmatch(text)
		switch {
		case m == nil:
		case s.Means:
			return s.Lengths, m[1:], true
		case len(m) > 1:
			return strings.Replace(s.Lengths, "#", m[1], 1), nil, true
		default:
			return s.Lengths, nil, true
		}
	}
	return "", nil, false
}

// Forbids is why a figure of a row with these flags is not compared, or why the row is not
// predicted where the figure is empty.
func Forbids(flags, figure string) string {
	for _, f := range known.Flags {
		if f.Figure == figure && strings.Contains(flags, f.Flag) {
			return f.Reason
		}
	}
	return ""
}

// Yes reports whether a cell says yes, in a word or by a number other than 0.
func Yes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "true", "on", "y", "enabled", "all":
		return true
	}
	return false
}
