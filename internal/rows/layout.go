package rows

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"throughline/internal/question"
)

var (
	// sizeWords are parallel sizes as people write them. DEP8 is attention and experts over the
	// data of eight ranks, TEP8 attention by tensors and experts.
	sizeWords   = regexp.MustCompile(`(?i)\b(dep|tep|etp|tp|dp|pp|ep)[ _=:-]*([0-9]{1,4})`)
	runTogether = regexp.MustCompile(`([0-9_])([A-Za-z])`)
	serverWords = regexp.MustCompile(`(?i)^\s*([0-9]{1,3})\s*[x×*]\s*[a-z]`)
	poolWords   = regexp.MustCompile(`(?i)\b([0-9]{1,4})P([0-9]{1,4})D\b`)
)

// laidOut is a row whose sizes have columns of their own, where it has them in words: TP4,DP2 in
// the column tp or of the whole layout, 1P2D for two pools.
func (r Row) laidOut() Row {
	cells := map[string]string{}
	for _, pool := range pools {
		text := r.Cell(pool + "layout")
		if tp := r.Cell(pool + "tp"); question.WithoutDecimals(tp) == tp {
			if _, err := strconv.Atoi(tp); err != nil {
				text = cmp.Or(tp, text)
			}
		}
		readSizes(text, pool, cells)
	}
	for _, column := range []string{"disagg", "mode", "layout"} {
		if m := poolWords.FindStringSubmatch(r.Cell(column)); m != nil {
			cells["mode"], cells["prefill_workers"], cells["decode_workers"] = string(question.Disaggregated), m[1], m[2]
			for _, size := range []string{"tp", "dp", "moe_tp", "ep"} {
				for _, pool := range pools[1:] {
					cells[pool+size] = cmp.Or(cells[pool+size], cells[size], r.Cell(size))
				}
			}
		}
	}
	if len(cells) == 0 {
		return r
	}
	return Row{func(column string) string {
		text := r.Cell(column)
		if _, err := strconv.ParseFloat(text, 64); err == nil || cells[column] == "" {
			return text
		}
		return cells[column]
	}}
}

func readSizes(text, pool string, into map[string]string) {
	found := sizeWords.FindAllStringSubmatch(runTogether.ReplaceAllString(text, "$1 $2"), -1)
	for _, m := range found {
		switch n, word := m[2], strings.ToLower(m[1]); word {
		case "dep":
			into[pool+"tp"], into[pool+"dp"], into[pool+"ep"], into[pool+"dp_attention"] = n, n, n, "true"
		case "tep":
			into[pool+"tp"], into[pool+"ep"] = n, n
		case "etp":
			into[pool+"moe_tp"] = n
		default:
			into[pool+word] = n
		}
	}
	if len(found) > 0 && into[pool+"tp"] == "" {
		into[pool+"tp"] = "1"
	}
	if n := into[pool+"tp"]; n != "" && n != "1" && n == into[pool+"dp"] && n == into[pool+"ep"] {
		into[pool+"dp_attention"] = "true" // as SGLang counts: each size is all ranks of a server
	}
	if m := serverWords.FindStringSubmatch(text); m != nil && len(found) > 0 && pool == "" {
		into["instances"] = m[1]
	}
}
