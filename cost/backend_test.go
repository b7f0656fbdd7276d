package cost

import (
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/plan"
)

// TestStandIns: what a chip has under the name of the software is said to stand in for nothing.
func TestStandIns(t *testing.T) {
	src, _ := hardware.Catalogue.Find("B200")
	s, doc := hardware.Read("B200", src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by     string
		latent bool
		want   []string // for each phase, in order
	}{
		{"", false, nil},
		{"trtllm_mha", false, nil},
		{"flashinfer", false, nil},
		{"triton", false, nil},
		{"trtllm_mla", true, nil},
		{"fa4", false, []string{"prefill attention of fa4 on B200: that of trtllm_mha", "decode attention of fa4 on B200: that of trtllm_mha"}},
		{"cutlass_mla", true, []string{"latent prefill of cutlass_mla on B200: that of trtllm_mla", "latent decode of cutlass_mla on B200: that of trtllm_mla"}},
		{kernel.IfMeasured + "cutlass_mla", true, nil},
		{"triton", true, []string{"latent decode of triton on B200 is extrapolated"}},
	} {
		prec := plan.Precision{Weight: 1, Cache: 2, MatrixType: "float8", AttentionType: "bfloat16", PrefillBy: c.by, DecodeBy: c.by}
		got := StandIns(s, &prec, c.latent)
		if len(got) != len(c.want) {
			t.Errorf("%q, latent %v: %q", c.by, c.latent, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%q, latent %v: %q, want %q", c.by, c.latent, got[i], c.want[i])
			}
		}
	}
}
