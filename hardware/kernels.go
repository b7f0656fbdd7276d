package hardware

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tailscale/hujson"

	"throughline/hardware/kernel"
)

// MeasuredAs is the chip that a system's products were measured on, or "" for a roofline.
func (s *System) MeasuredAs() string {
	if s.Kernels == nil {
		return ""
	}
	on := s.Kernels.System
	for _, t := range slices.Sorted(maps.Keys(s.Kernels.Gemm)) {
		if on = s.Kernels.MeasuredOn(kernel.Gemm.Section(), t); on == s.Kernels.System {
			break // some of them on the chip itself
		}
	}
	return on
}

// decoded caches built-in kernels, which never change once read.
var decoded sync.Map

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

// Peaks are what kernels are relative to: T/s by number type, GB/s of memory and innermost network.
func (s *System) Peaks() map[string]float64 {
	out := map[string]float64{}
	for _, what := range append(s.MatrixTypes(), memoryPeak, linkPeak) {
		out[what] = s.peak(what)
	}
	return out
}

// Names of peaks that are not number types.
const (
	memoryPeak = "mem1"
	linkPeak   = "networks[0]"
)

// peak finds a peak by name, 0 where the system does not have it.
func (s *System) peak(what string) float64 {
	switch what {
	case memoryPeak:
		return s.Memory.GBps
	case linkPeak:
		return s.Networks[0].Bandwidth
	}
	return s.Matrix[what].TFlops
}

// Has reports whether kernels were measured on this chip, by its peaks or, without any, its name.
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

// WithKernels replaces the kernels of a system file and leaves the rest as written.
func WithKernels(file []byte, set *kernel.Set) ([]byte, error) { return with(file, "kernels", set) }

// WithPower replaces the power of a system file and leaves the rest as written.
func WithPower(file []byte, p *Power) ([]byte, error) { return with(file, "power", p) }

func with(file []byte, key string, value any) ([]byte, error) {
	v, err := hujson.Parse(file)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal([]struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}{{"add", "/" + key, value}})
	if err != nil {
		return nil, err
	}
	if err := v.Patch(patch); err != nil {
		return nil, err
	}
	return v.Pack(), nil
}
