package cost

import (
	"fmt"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/plan"
)

// StandIns says which attention of a deployment is priced by other kernels than it is told to take, for want of measurements on a
// system, and which by kernels that were measured with other heads.
func StandIns(s *hardware.System, prec *plan.Precision, latent bool) (out []string) {
	if s == nil || s.Kernels == nil || prec.PrefillBy+prec.DecodeBy == "" {
		return nil
	}
	types := kernel.Types{
		Matrix: prec.MatrixType, Attention: prec.AttentionType, Cache: cacheTypes[prec.Cache], Wide: wideType(s), ReadsNarrow: prec.ReadsNarrow,
		PrefillBy: kernel.Asked(prec.PrefillBy), DecodeBy: kernel.Asked(prec.DecodeBy), Weight: prec.Weight,
	}
	for _, in := range s.Kernels.StandIns(types, latent) {
		asked := strings.Join(in.Asked.Names(), " or ")
		switch {
		case in.None:
		case in.Stretched:
			out = append(out, fmt.Sprintf("%s of %s on %s is extrapolated from grouped attention: latent attention was not measured with it there", in.Of, asked, s.Name))
		case in.By == "":
			out = append(out, fmt.Sprintf("no measurement of %s of %s on %s: another kernel stands in", in.Of, asked, s.Name))
		default:
			out = append(out, fmt.Sprintf("no measurement of %s of %s on %s: that of %s stands in", in.Of, asked, s.Name, in.By))
		}
	}
	return out
}
