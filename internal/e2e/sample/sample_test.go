package sample

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/cli"
	"throughline/internal/test/golden"
)

var (
	sampleConfig = filepath.Join(golden.Root, "configs", "reference_sample.json")
	// published is the sample as the reference tool printed it. It is not part of the project.
	published = filepath.Join(golden.Root, "..", "shared", "reference", "golden.csv")
	// ours is the same table as this program writes it, at full precision.
	ours = filepath.Join("testdata", "reference_sample.csv")
)

// table is a wide CSV: names of fields, and the cells of each by run.
type table struct {
	fields []string
	cells  map[string][]string
}

func readTable(t *testing.T, content []byte) table {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := table{cells: map[string][]string{}}
	for _, row := range rows[1:] {
		out.fields = append(out.fields, row[0])
		out.cells[row[0]] = row[1:]
	}
	return out
}

// writeSample runs the sample and returns the table it writes.
func writeSample(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), []string{"run", "-c", sampleConfig, "-o", dir}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	content, err := os.ReadFile(filepath.Join(dir, "pd-split-request-optimal_decoder_best.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Every cell of the published sample, to every printed digit.
func TestPublishedSample(t *testing.T) {
	content, err := os.ReadFile(published)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the published sample is not at %s; TestSample compares with our own copy of the numbers", published)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, got := readTable(t, content), readTable(t, writeSample(t))
	compared, same := 0, 0
	for i, field := range want.fields {
		if i >= len(got.fields) || got.fields[i] != field {
			t.Errorf("field %d is not %q", i, field)
		}
		for run, cell := range want.cells[field] {
			compared++
			if run >= len(got.cells[field]) {
				t.Errorf("%s, run_%d: missing, published %s", field, run, cell)
			} else if ours := got.cells[field][run]; !matches(cell, ours) {
				t.Errorf("%s, run_%d: %s, published %s", field, run, ours, cell)
			} else {
				same++
			}
		}
	}
	t.Logf("%d of %d cells are those of the published sample", same, compared)
	if compared != 82*4 {
		t.Errorf("compared %d cells, not 82 fields of 4 runs", compared)
	}
}

// matches reports whether our cell, rounded to the digits of the printed one, is the printed one.
// Text must be equal.
func matches(printed, ours string) bool {
	digits, decimals, ok := printedDigits(printed)
	value, err := strconv.ParseFloat(ours, 64)
	if !ok || err != nil {
		return printed == ours
	}
	// math.Round rounds half away from zero, as spreadsheets do.
	return math.Round(value*math.Pow10(decimals)) == digits
}

// printedDigits takes a number like 7.32793E+12 apart: 732793, and the -7 decimals at which they
// end.
func printedDigits(printed string) (digits float64, decimals int, ok bool) {
	mantissa, exponent, hasExponent := strings.Cut(printed, "E")
	if hasExponent {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			return 0, 0, false
		}
		decimals = -e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, err := strconv.ParseFloat(whole+fraction, 64)
	return digits, decimals + len(fraction), err == nil
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		printed, ours string
		want          bool
	}{
		{"2009.803293", "2009.8032925", true},
		{"2009.803293", "2009.8032924999", false},
		{"7.32793E+12", "7327934999999", true},
		{"7.32793E+12", "7327935000001", false},
		{"3.00E-08", "3e-08", true},
		{"3.00E-08", "3.01e-08", false},
		{"19125610560", "19125610560", true},
		{"19125610560", "19125610561", false},
		{"0", "0", true},
		{"0", "0.6", false},
		{"TRUE", "TRUE", true},
		{"", "", true},
		{"", "0", false},
		{"0", "", false},
	} {
		if got := matches(c.printed, c.ours); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.printed, c.ours, got)
		}
	}
}

// The sample has not moved since it was last compared. Numbers may differ by the rounding of
// another processor.
func TestSample(t *testing.T) {
	content := withoutBuild(writeSample(t))
	got, want := readTable(t, content), readTable(t, golden.Content(t, ours, content))
	if fmt.Sprint(got.fields) != fmt.Sprint(want.fields) {
		t.Fatalf("the fields are\n%v\nnot\n%v", got.fields, want.fields)
	}
	for _, field := range want.fields {
		for run, cell := range want.cells[field] {
			if ours := got.cells[field][run]; !near(ours, cell) {
				t.Errorf("%s, run_%d: %s, expected %s", field, run, ours, cell)
			}
		}
	}
}

// withoutBuild leaves out the rows that change with every version of the program and of the
// built-in files.
func withoutBuild(content []byte) []byte {
	var out []byte
	for line := range bytes.Lines(content) {
		if !bytes.HasPrefix(line, []byte("throughline_version,")) && !bytes.HasPrefix(line, []byte("input_hash,")) {
			out = append(out, line...)
		}
	}
	return out
}

func near(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return a == b
	}
	return math.Abs(x-y) <= 1e-12*math.Abs(y)
}

const (
	qwen     = "qwen3-32B-flash"
	deepseek = "deepseek-v3-mla-absorb"
)

// runSplit runs the sample with given splits over the processors and returns the first run of a
// model.
func runSplit(t *testing.T, layout, experts, model string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(sampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for key, value := range map[string]string{"d_parallel_config": layout, "d_moe_parallel_config": experts} {
		free := fmt.Sprintf("%q: null", key)
		if strings.Count(text, free) != 1 {
			t.Fatalf("the sample does not leave %s to the search", key)
		}
		text = strings.Replace(text, free, fmt.Sprintf("%q: [%s]", key, value), 1)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "split.json")
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), []string{"run", "-c", config, "-o", dir, "--json"}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var runs []map[string]any
	if err := json.Unmarshal(out.Bytes(), &runs); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		decoder := run["decoder_best"].(map[string]any)
		if decoder["model_name"] == model {
			decoder["reasons"] = run["reasons"]
			return decoder
		}
	}
	t.Fatalf("no run of %s", model)
	return nil
}

// The plans that lose against those of the sample, and the winners, in tokens per second and
// processor as worked out independently of this program.
func TestRankedPlans(t *testing.T) {
	for _, c := range []struct {
		model, layout, experts string // [DP, PP, TP], [EP, MoE-TP, MoE-DP]
		want                   string
	}{
		{qwen, "[9, 1, 4]", "[4, 1, 9]", "8250.13"},
		{qwen, "[18, 1, 2]", "[4, 1, 9]", "8208.08"},
		{qwen, "[36, 1, 1]", "[4, 1, 9]", "7237.51"},
		{deepseek, "[12, 3, 1]", "[4, 1, 9]", "2009.80"},
		{deepseek, "[12, 3, 1]", "[2, 2, 9]", "2004.1"},
		{deepseek, "[18, 2, 1]", "[4, 1, 9]", "1964.0"},
		{deepseek, "[9, 4, 1]", "[4, 1, 9]", "1684.1"},
	} {
		t.Run(c.model+" "+c.layout+c.experts, func(t *testing.T) {
			run := runSplit(t, c.layout, c.experts, c.model)
			if got := fmt.Sprint(run["decoder_throughput_per_npu(token/s)"]); !matches(c.want, got) {
				t.Errorf("%s tokens per second and processor, expected %s", got, c.want)
			}
		})
	}
}

// One pipeline stage does not hold the experts: 80 of them on a processor, each three matrices of
// 7168 by 2048 at half a byte, are 100.08 GiB in 61 layers, of which 72 fit. The router (7168 by
// 256), the norms and the attention bring the weights to 105.445 GiB; one sequence needs 0.168 GiB
// of cache, and the split of the latent's up-projection (128 heads, 256 by 512) 0.008 GiB of
// working space.
func TestOneStageDoesNotFit(t *testing.T) {
	run := runSplit(t, "[36, 1, 1]", "[4, 1, 9]", deepseek)
	if got := run["decoder_throughput(token/s)"]; got != nil {
		t.Errorf("a plan was found: %v tokens per second", got)
	}
	reason := fmt.Sprint(run["reasons"])
	for _, want := range []string{"dp36·pp1·tp1", "not fit into 72 GiB", "needs 33.62 GiB more"} {
		if !strings.Contains(reason, want) {
			t.Errorf("the reason is %q, without %q", reason, want)
		}
	}
}
