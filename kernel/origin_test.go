package kernel

import "testing"

func TestFill(t *testing.T) {
	norm, copies := &Curve{Latency: 1}, &Curve{Latency: 2}
	other := &Set{
		System: "other", From: map[string]string{"copy": "third"}, Sustained: 0.9,
		Elementwise: map[string]*Curve{"add_rmsnorm": norm}, Copy: map[string]*Curve{"d2d_copy": copies},
		Gemm: map[string]*Gemm{"bfloat16": {}}, Errors: map[string]float64{"gemm": 0.1, "elementwise": 0.2},
	}
	mine := &Gemm{}
	s := &Set{System: "mine", Gemm: map[string]*Gemm{"float8": mine}}
	s.Fill(other)
	if len(s.Gemm) != 1 || s.Gemm["float8"] != mine || s.MeasuredOn("gemm") != "mine" || s.Errors["gemm"] != 0 {
		t.Errorf("what was there has changed: %+v", s)
	}
	if s.Elementwise["add_rmsnorm"] != norm || s.MeasuredOn("elementwise") != "other" || s.Errors["elementwise"] != 0.2 {
		t.Errorf("element-wise: %+v", s)
	}
	if s.Copy["d2d_copy"] != copies || s.MeasuredOn("copy") != "third" || s.Sustained != 0.9 {
		t.Errorf("copies: %+v", s)
	}
}
