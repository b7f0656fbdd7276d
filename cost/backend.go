package cost

import (
	"fmt"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/plan"
)

// StandIns lists the attention that other kernels than the chosen ones stand in for, for want of
// measurements, or the chosen ones measured with other heads.
func StandIns(s *hardware.System, prec *plan.Precision, latent bool) (out []string) {
	if s == nil || s.Kernels == nil || prec.PrefillBy+prec.DecodeBy == "" {
		return nil
	}
	types := kernel.Types{
		Matrix: prec.MatrixType, Attention: prec.AttentionType, Cache: cacheTypes[prec.Cache], Wide: wideType(s), ReadsNarrow: prec.ReadsNarrow,
		PrefillBy: kernel.Asked(prec.PrefillBy), DecodeBy: kernel.Asked(prec.DecodeBy), Weight: prec.Weight,
	}
	for _, in := range s.Kernels.StandIns(types, latent) {
		chosen := strings.Join(in.Asked.Names(), " or ")
		switch {
		case in.None:
		case in.Stretched:
			out = append(out, fmt.Sprintf("%s of %s on %s is extrapolated from grouped attention: latent attention was not measured with it there", in.Of, chosen, s.Name))
		case in.By == "":
			out = append(out, fmt.Sprintf("no measurement of %s of %s on %s: another kernel stands in", in.Of, chosen, s.Name))
		default:
			out = append(out, fmt.Sprintf("no measurement of %s of %s on %s: that of %s stands in", in.Of, chosen, s.Name, in.By))
		}
	}
	return out
}
