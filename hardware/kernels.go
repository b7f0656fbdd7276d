package hardware

import (
	"encoding/json"

	"github.com/tailscale/hujson"

	"throughline/kernel"
)

// MeasuredAs says which chip the products of a system were measured on: its own name or another, or "" for a roofline.
func (s *System) MeasuredAs() string {
	if s.Kernels == nil {
		return ""
	}
	for _, t := range sortedKeys(s.Kernels.Gemm) {
		return s.Kernels.MeasuredOn("gemm", t)
	}
	return s.Kernels.System
}

// WithKernels is a system file with the set as its kernels, in the place of those that it has. The rest stays as it was
// written, comments included.
func WithKernels(file []byte, set *kernel.Set) ([]byte, error) {
	v, err := hujson.Parse(file)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal([]struct {
		Op    string      `json:"op"`
		Path  string      `json:"path"`
		Value *kernel.Set `json:"value"`
	}{{"add", "/kernels", set}})
	if err != nil {
		return nil, err
	}
	if err := v.Patch(patch); err != nil {
		return nil, err
	}
	return v.Pack(), nil
}
