package web

import (
	"regexp"
	"strings"
	"testing"
)

// A map of plans shows small frontiers on the same axes, systems in one of them; places without a plan say why.
func TestFrontiers(t *testing.T) {
	s := patient()
	last := func(target string) string { // without the stages before it
		body := get(s, "GET", target, nil).Body.String()
		return body[max(0, strings.LastIndex(body, `class="stage"`)):]
	}
	body := last("/map?engine=vllm&figure=frontiers&gpus=1&isl=64,50000000&mode=agg&model=llama_3_8b&osl=4&system=H200,L4")
	if n := strings.Count(body, `class="chart choices"`); n != 1 {
		t.Errorf("%d drawings", n)
	}
	for _, want := range []string{">H200<", ">L4<", ">isl 64<", ">isl 50,000,000<", "All have the same axes."} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if said := regexp.MustCompile(`isl 50,000,000</a> <span class="r"></span></h3><p class="hint">[^<]{10,}`); !said.MatchString(body) {
		t.Error("a place without a plan does not say why")
	}
	// Several systems alone are a frontier each, unless a figure is chosen.
	one := last("/map?engine=vllm&gpus=1&mode=agg&model=llama_3_8b&osl=4&system=H200,L40S")
	if strings.Count(one, `class="chart choices"`) != 1 || !strings.Contains(one, ">H200<") || !strings.Contains(one, ">L40S<") {
		t.Error("systems are not side by side")
	}
}
