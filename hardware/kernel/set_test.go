package kernel

import "testing"

func TestFill(t *testing.T) {
	norm, copies := &Curve{Latency: 1}, &Curve{Latency: 2}
	other := &Set{
		System: "other", From: map[string]string{"copy": "third"},
		Elementwise: map[string]*Curve{"add_rmsnorm": norm}, Copy: map[string]*Curve{"d2d_copy": copies},
		Gemm: map[string]*GemmModel{"bfloat16": {}}, Errors: map[string]float64{"gemm.bfloat16": 0.1, "elementwise.add_rmsnorm": 0.2},
	}
	mine := &GemmModel{}
	s := &Set{System: "mine", Gemm: map[string]*GemmModel{"float8": mine}}
	s.Fill(other)
	if len(s.Gemm) != 2 || s.Gemm["float8"] != mine || s.MeasuredOn("gemm", "float8") != "mine" || s.MeasuredOn("gemm", "bfloat16") != "other" {
		t.Errorf("products: %+v", s)
	}
	if s.Elementwise["add_rmsnorm"] != norm || s.MeasuredOn("elementwise", "add_rmsnorm") != "other" || s.Errors["elementwise.add_rmsnorm"] != 0.2 {
		t.Errorf("element-wise: %+v", s)
	}
	same := &Set{System: "mine", Gemm: map[string]*GemmModel{"float8": {}, "float4": {}}, Errors: map[string]float64{"gemm.float4": 0.3, "gemm.float8": 0.4}}
	s.Fill(same)
	if len(s.Gemm) != 3 || s.Gemm["float8"] != mine || s.Errors["gemm.float4"] != 0.3 || s.Errors["gemm.float8"] != 0 || s.MeasuredOn("gemm", "float4") != "mine" {
		t.Errorf("another table of the same chip: %+v", s)
	}
	if s.Copy["d2d_copy"] != copies || s.MeasuredOn("copy", "d2d_copy") != "third" {
		t.Errorf("copies: %+v", s)
	}
}
