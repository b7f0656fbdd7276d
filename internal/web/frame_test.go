package web

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkFrame is what a move of a slider costs, with the charts in view that are when it moves.
func BenchmarkFrame(b *testing.B) {
	for _, see := range []string{"none", "roofline", "tpot,ttft,timeline", "timeline", "tpot"} {
		b.Run(see, func(b *testing.B) {
			s := patient()
			words := "batch=64&dp=16&isl=4000&model=DeepSeek-V3&osl=1000&system=H200"
			drawn, bytes, i := "", 0, 0
			for b.Loop() {
				i++
				w := get(s, "GET", fmt.Sprintf("/why/frame?%s&sys.mem1.GBps=%d&was=%s&see=%s", words, 4801+i, drawn, see), nil)
				var got struct{ Drawn string }
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
					b.Fatal(w.Code, err)
				}
				drawn, bytes = got.Drawn, bytes+w.Body.Len()
			}
			b.ReportMetric(float64(bytes)/float64(i), "bytes/op")
		})
	}
}
