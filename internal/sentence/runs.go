package sentence

import (
	"fmt"

	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Runs says how many runs have a plan, and which serves the most requests per GPU.
func Runs(runs, complete, parts int, best *result.Record) []string {
	counts := fmt.Sprintf("%s of %s runs have a plan", number.Grouped(complete), number.Grouped(runs))
	if runs == 1 {
		counts = map[bool]string{true: "The run has a plan", false: "The run has no plan"}[complete == 1]
	}
	if parts > 0 {
		counts += fmt.Sprintf(", %s of one phase only", number.Grouped(parts))
	}
	if best == nil {
		return []string{counts + "."}
	}
	rate, _ := result.In("request_per_second_per_npu", "")(best).(float64)
	decode := best.Sides[op.Decode]
	where := decode.System.Name
	if prefill := best.Sides[op.Prefill].System.Name; prefill != where {
		where = prefill + " and " + where
	}
	per := "GPU"
	if n := decode.System.ProcsPerNPU; n > 1 {
		per = fmt.Sprintf("package of %d GPUs", n) // as the reference tool counts
	}
	for _, v := range best.Varied {
		where += fmt.Sprintf(", %s %s", v.Name, number.Plain(v.Value, 6))
	}
	most := fmt.Sprintf("Most requests/s per %s, %s, has %s on %d × %s with %d in and %d out: TTFT is %s, TPOT %s, and %s.",
		per, number.Plain(rate, 3), best.Model.Name, best.Procs, where, best.Lengths.Input, best.Lengths.Output,
		number.Time(best.TTFT, 3), number.Time(best.TPOT, 3), share(decode, "a decode step"))
	if runs == 1 {
		most = fmt.Sprintf("It serves %s requests/s per %s: TTFT is %s, TPOT %s, and %s.", number.Plain(rate, 3), per, number.Time(best.TTFT, 3), number.Time(best.TPOT, 3), share(decode, "a decode step"))
	}
	return sentences(counts+".", most)
}
