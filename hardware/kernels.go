package hardware

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tailscale/hujson"

	"throughline/hardware/kernel"
)

// MeasuredAs says which chip the products of a system were measured on: its own name or another, or "" for a roofline.
func (s *System) MeasuredAs() string {
	if s.Kernels == nil {
		return ""
	}
	on := s.Kernels.System
	for _, t := range sortedKeys(s.Kernels.Gemm) {
		if on = s.Kernels.MeasuredOn(kernel.Gemm.Section(), t); on == s.Kernels.System {
			break // some of them on the chip itself
		}
	}
	return on
}

// decoded are the built-in kernels that have been read before. Sets are not changed once they are read.
var decoded sync.Map

// builtInKernels finds kernels by name.
func builtInKernels(name string) (*kernel.Set, bool) {
	name, ok := Kernels.Name(name)
	if !ok {
		return nil, false
	}
	if set, ok := decoded.Load(name); ok {
		return set.(*kernel.Set), true
	}
	src, _ := Kernels.Find(name)
	set, err := decodeKernels(src)
	if err != nil {
		panic(fmt.Sprintf("the built-in kernels of %s: %v", name, err)) // a test reads them all
	}
	decoded.Store(name, set)
	return set, true
}

// Peaks are what calibrated kernels are relative to: T/s by number type, and GB/s of the memory and of the innermost network.
func (s *System) Peaks() map[string]float64 {
	out := map[string]float64{}
	for _, what := range append(s.MatrixTypes(), memoryPeak, linkPeak) {
		out[what] = s.peak(what)
	}
	return out
}

// What peaks are called that are not of a number type.
const (
	memoryPeak = "mem1"
	linkPeak   = "networks[0]"
)

// peak is one of them by its name, 0 where the system does not have it.
func (s *System) peak(what string) float64 {
	switch what {
	case memoryPeak:
		return s.Memory.GBps
	case linkPeak:
		return s.Networks[0].Bandwidth
	}
	return s.Matrix[what].TFlops
}

// Has reports whether kernels were measured on this chip: one with the same peaks or, where they do not tell, of the name.
func (s *System) Has(set *kernel.Set) bool {
	if set.Peaks == nil {
		return set.System == s.Name
	}
	for what, peak := range set.Peaks {
		if s.peak(what) != peak {
			return false
		}
	}
	return true
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
