package estimate

import (
	"math"
	"testing"

	"throughline/cost"
	"throughline/model"
	"throughline/op"
)

// TestTrust: two products of 3 s and 1 s, off by 8% and 4%, are off together by 0.28 s; experts of
// 4 s that are off by 5.25%, by 0.21 s in their own way: 0.35 s of 8.
func TestTrust(t *testing.T) {
	product, experts := op.Op{Class: op.Linear}, op.Op{Class: op.Linear, Module: model.ExpertModule}
	taking := func(o op.Op, time float64) *Operator { return &Operator{Op: o, Times: 1, Exposed: time} }
	var sum trust
	if share, level := sum.kernels(); share != 0 || level != cost.Estimated {
		t.Errorf("nothing is off by %v, %v", share, level)
	}
	sum.add(taking(product, 3), 0.08, cost.Measured)
	sum.add(taking(product, 1), 0.04, cost.Fitted)
	sum.add(taking(experts, 4), 0.0525, cost.Measured)
	share, level := sum.kernels()
	if math.Abs(share-0.35/8) > 1e-12 || level != cost.Measured {
		t.Errorf("off by %v, %v; by hand %v, measured: seven eighths of it are", share, level, 0.35/8)
	}
	sum.add(taking(op.Op{Class: op.BMM}, 2), 0, cost.Estimated)
	if _, level := sum.kernels(); level != cost.Fitted {
		t.Errorf("7 of 10 s measured and 1 fitted are %v", level)
	}
	sum.add(taking(op.Op{Class: op.BMM}, 1), 0, cost.Estimated)
	if _, level := sum.kernels(); level != cost.Estimated {
		t.Errorf("8 of 11 s known are %v", level)
	}
}
