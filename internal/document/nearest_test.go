package document

import "testing"

func TestNearest(t *testing.T) {
	allowed := []string{"model_list", "sys_list", "moe_config", "tp", "batch_size", "bandwidth", "pd-fusion", "float8", "bfloat16"}
	for word, want := range map[string]string{
		"sytem_list":  "sys_list",
		"system_list": "sys_list",
		"sys":         "sys_list",
		"sys_config":  "sys_list",
		"list_model":  "model_list",
		"model":       "model_list",
		"modelList":   "model_list",
		"moe":         "moe_config",
		"MOE-Config":  "moe_config",
		"pd_fusion":   "pd-fusion",
		"TP":          "tp",
		"pt":          "tp",
		"batchsize":   "batch_size",
		"bacth_size":  "batch_size",
		"bandwith":    "bandwidth",
		"models":      "model_list",
		"batch_sizes": "batch_size",
		"fp8":         "float8",
		"BF16":        "bfloat16",
		"bf":          "",
		"fp32":        "",
		"x":           "",
		"":            "",
		"latency":     "",
		"模型":          "",
	} {
		got, ok := Nearest(word, allowed)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %t, want %q", word, got, ok, want)
		}
	}
	if got, ok := Nearest("x", nil); ok {
		t.Errorf("Nearest of nothing = %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "adc", 1},
		{"abc", "acb", 1},
		{"abc", "ac", 1},
		{"abc", "abxc", 1},
		{"模型", "型模", 1},
		{"kitten", "sitting", 3},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
