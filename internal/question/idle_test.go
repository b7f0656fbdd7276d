package question

import (
	"strings"
	"testing"
)

// TestIdlePower: limits that change nothing and prices of watts that nobody knows are said to have
// no effect.
func TestIdlePower(t *testing.T) {
	for _, c := range []struct{ system, phase, limit, price, setting, why string }{
		{"H200", "", "900", "", "power-limit", "limited to 700 W as delivered"},
		{"H200", "", "900,600", "", "power-limit", ""},
		{"H200", "", "700", "", "power-limit", ""},
		{"L4", "", "", "0.1", "energy-price", "L4 has no block \"power\""},
		{"H200", "decode", "", "0.1", "energy-price", "a bare step has no clients"},
		{"H200", "", "", "0.1", "energy-price", ""},
		{"H200", "", "", "", "pue", "it scales energy-price and carbon"},
		{"H200", "", "", "0.1", "pue", ""},
	} {
		q := Default()
		q.Model, q.GPUs, q.System, q.PowerLimit, q.Phase = "Llama-3.1-8B", 1, c.system, c.limit, Phase(c.phase)
		q.Tariff.PUE = 1.2
		if c.price != "" {
			q.Tariff.PerKWh = 0.1
		}
		l, err := q.Load()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range l.Idle(Estimate, func(name string) bool { return name == c.setting }) {
			got += p.Message
		}
		if !strings.Contains(got, c.why) || c.why == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
