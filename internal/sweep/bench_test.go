//go:build unix

package sweep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/internal/scan"
	"throughline/internal/test/cputime"
)

// BenchmarkScan answers a share of what a scan of some size is meant to take, into Parquet files,
// and says how long all of it would keep two processors busy.
func BenchmarkScan(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the program has it
	for _, c := range []struct {
		name    string
		points  int     // of which the limit is
		share   int     // one in so many is answered: enough that what each worker prepares hardly counts
		seconds float64 // of two processors
		scan    *scan.Request
	}{
		{"steps_H200", 10_000_000, 10, 30, &scan.Request{Command: "estimate",
			Settings: map[string]string{"model": "Llama-3.1-8B", "system": "H200", "batch": "32", "phase": "decode"},
			Vary:     []string{"sys.mem1.GBps=3000:12500:1000", "sys.networks[0].bandwidth=x0.5:x4:log1000"}}},
		{"steps_SOW-U1-POR", 10_000_000, 10, 15, &scan.Request{Command: "estimate",
			Settings: map[string]string{"model": "Llama-3.1-8B", "system": "SOW-U1-POR", "batch": "32", "phase": "decode", "assume": "reference", "weights": "fp8"},
			Vary:     []string{"sys.mem1.GBps=3000:12500:1000", "sys.networks[0].bandwidth=x0.5:x4:log1000"}}},
		{"plans_DeepSeek-V3_64", 1000, 25, 210, &scan.Request{Command: "plan",
			Settings: map[string]string{"model": "DeepSeek-V3", "system": "H200", "gpus": "64", "weights": "fp8", "isl": "4000", "osl": "1000", "tpot": "50ms"},
			Vary:     []string{"sys.mem1.GBps=3000:12500:40"}}},
		{"simulations_10000_requests", 10_000, 100, 180, &scan.Request{Command: "simulate",
			Settings: map[string]string{"model": "Llama-3.1-8B", "system": "H200", "rate": "20", "isl": "512", "osl": "128", "num-prompts": "10000"},
			Vary:     []string{"sys.mem1.GBps=3000:12500:100"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx := context.Background()
			for b.Loop() {
				w, err := NewWork(ctx, c.scan, b.TempDir(), 3) // which sizes the parts, once in a scan
				if err != nil {
					b.Fatal(err)
				}
				start := cputime.Now()
				if _, err = w.Do(ctx, 0, 1, 2, func(int) {}); err != nil {
					b.Fatal(err)
				}
				measured(b, start.Seconds(), w.Manifest.Points, c.points, c.seconds)
			}
		})
	}
	b.Run("reference_searches_DeepSeek_36", func(b *testing.B) {
		const runs = 200
		job := referenceJob(b, runs)
		for b.Loop() {
			start := cputime.Now()
			err := Run(context.Background(), job, Options{Jobs: 2}, func(*result.Record) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			measured(b, start.Seconds(), runs, 100_000, 45)
		}
	})
}

// measured says what all points would take, beside the limit, and the most memory until now.
func measured(b *testing.B, start float64, points, all int, limit float64) {
	each := (cputime.Now().Seconds() - start) / float64(points)
	b.ReportMetric(1e6*each, "cpu-µs/point")
	b.ReportMetric(each*float64(all)/2, "s-of-two/scan")
	b.ReportMetric(limit, "s-limit")
	b.ReportMetric(float64(peak(b)), "peak-MB")
}

// peak is the most resident memory of this process so far.
func peak(b *testing.B) (mb int) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &mb); err == nil {
			return mb >> 10
		}
	}
	return 0
}

// referenceJob is the decode search of the sample of the reference tool, at many lengths.
func referenceJob(b *testing.B, runs int) *jobfile.Job {
	b.Helper()
	var lengths []string
	for i := range runs {
		lengths = append(lengths, fmt.Sprintf("[%d, 1024]", 1024+16*i))
	}
	file := filepath.Join(b.TempDir(), "runtime.json")
	text := fmt.Sprintf(`{"pd-split-request-optimal": {"model_list": ["deepseek_v3_flash_mla_absorb"], "sequence_length_list": [%s],
		"num_procs_list": [72], "pd_num_procs_list": [[36, 36]], "deploy_shared_expert_config": false, "wac_bytes_list": [[0.5, 0.5, 1, 1]],
		"flops_type_list": [["float4", "float8", "float4"]], "time_limit_list": [[null, 50]], "sys_list": [["SOW-U1-POR", "SOW-U1-POR"]], "output": "out"}}`, strings.Join(lengths, ", "))
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		b.Fatal(err)
	}
	as, err := assume.Parse("reference")
	if err != nil {
		b.Fatal(err)
	}
	jobs, _, err := jobfile.Load(files.Machine, file, as)
	if err != nil {
		b.Fatal(err)
	}
	return jobs[0]
}
