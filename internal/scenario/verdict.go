package scenario

import (
	"fmt"

	"throughline/number"
)

// Verdict says in a sentence whether it pays to decode elsewhere.
func Verdict(rows []Row) string {
	var split, single *Row // the fastest of each
	for i := range rows {
		best := &single
		if rows[i].Pair.Split() {
			best = &split
		}
		if *best == nil || rows[i].Total() < (*best).Total() {
			*best = &rows[i]
		}
	}
	switch {
	case split == nil && len(rows) == 1:
		return fmt.Sprintf("%s takes %s s for all requests.", single.Pair.Name, seconds(single.Total()))
	case split == nil:
		slowest := single
		for i := range rows {
			if rows[i].Total() > slowest.Total() {
				slowest = &rows[i]
			}
		}
		return fmt.Sprintf("%s is the fastest with %s s; %s takes %s that.", single.Pair.Name, seconds(single.Total()), slowest.Pair.Name, comparedWith(slowest, single))
	case single == nil:
		return fmt.Sprintf("%s takes %s s; there is no scenario on one system to compare it with.", split.Pair.Name, seconds(split.Total()))
	}
	answer := "Not worth it"
	if split.Total() < single.Total() {
		answer = "Worth it"
	}
	return fmt.Sprintf("%s: prefill on %s and decode on %s take %s s, %s %s (%s s); one such prefill keeps up with %s such decodes.",
		answer, split.Pair.Prefill.name(), split.Pair.Decode.name(), seconds(split.Total()), comparedWith(split, single), single.Pair.Name, seconds(single.Total()),
		number.Plain(split.Decode/(split.Prefill+split.Transfer), 2))
}

// comparedWith compares the total of a row with another's, before the name of that.
func comparedWith(r, other *Row) string {
	ratio := r.Total() / other.Total()
	switch {
	case ratio >= 2:
		return fmt.Sprintf("%s times as long as", number.Plain(ratio, 3))
	case ratio >= 1:
		return fmt.Sprintf("%s%% longer than", number.Plain(100*(ratio-1), 2))
	}
	return fmt.Sprintf("%s%% less than", number.Plain(100*(1-ratio), 2))
}

func seconds(t float64) string { return number.Plain(t, 3) }
