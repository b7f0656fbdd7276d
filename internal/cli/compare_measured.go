package cli

import (
	"context"

	"throughline/internal/gap"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/table"
)

// explainGap is another in tests that look at several forms of an answer.
var explainGap = gap.Ask

func compareMeasured(ctx context.Context, s Streams, q *question.Query, asJSON bool, v table.View) error {
	got, err := explainGap(ctx, q)
	showRemarks(s, got.Remarks)
	if err != nil {
		return err
	}
	if got.Explanation == nil {
		return exitError{exitNoPlan} // already printed
	}
	why, answer, m := got.Explanation, got.Answer, got.Measured
	if asJSON {
		return failed(report.WriteObject(s.data, why))
	}
	text := sentence.Text(v, sentence.Gap(why)) + "\n" + v.Wrap(report.PointTitle(answer)) + "\n" + v.Wrap("Load: "+why.Load) + "\n\n" + report.Gap(v, why)
	if why.Causes[0].Able && !why.Causes[0].Contradicts {
		text += v.WrapUnder("- ", "a profile of the decode step: throughline compare --kernels tells its classes apart") + "\n"
	}
	if q.Kernels != "" {
		compared, err := gap.BesideProfile(q.In, q.Kernels, answer)
		if err != nil {
			return err
		}
		text = kernelText(v, answer, compared, m.Of("tpot")) + "\n" + text
	}
	return write(s.Out, text)
}
