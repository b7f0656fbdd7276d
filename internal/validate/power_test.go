package validate_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/internal/test/builtin"
	"throughline/internal/validate"
)

const powerHeader = "kind,dtype,params,flops,bytes,time_us,joules,limit_w\n"

// predictPower is the predictions of rows on an H200, by row and column.
func predictPower(t *testing.T, system, rows string) (*validate.Report, [][]string) {
	t.Helper()
	q := question.DefaultOf(question.Power)
	q.System = system
	r, err := validate.Power(context.Background(), "power.csv", strings.NewReader(powerHeader+rows), q)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return r, cells
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPowerRows: columns, rests and limits of a table of power.
func TestPowerRows(t *testing.T) {
	const gemm = "gemm,bf16,m=16384;n=8192;k=8192,2199023255552,671088640,,,"
	const decode = "decode,bf16,model=llama3-8b;b=64;s=4096"
	_, rows := predictPower(t, "H200", "idle,,state=before,0,0,1000000,80,700\nidle,,state=after,0,0,1000000,127,700\n"+
		gemm+"700\n"+gemm+"400\n"+decode+",0,0,,,700\n"+decode+",0,0,,,400\n"+decode+";duty=0.5,0,0,,,700\nflux,bf16,m=1,1,1,1,1,700\n"+gemm+"-5\nidle,,state=after,0,0,,,700\n")
	if got := strings.Join(rows[0][8:], ","); got != "predicted_time_us,predicted_joules,predicted_watts,reason" {
		t.Errorf("columns %s", got)
	}
	watts := func(row int) float64 { return number(t, rows[row][10]) }
	micros := func(row int) float64 { return number(t, rows[row][8]) }
	p := builtin.System(t, "H200").Power
	if watts(1) != p.Rest || watts(2) != p.On {
		t.Errorf("idle at %g and %g W, not %g and %g", watts(1), watts(2), p.Rest, p.On)
	}
	if got := watts(10); got != p.On || number(t, rows[10][9]) != p.On {
		t.Errorf("a second of waiting takes %s J at %g W, not %g", rows[10][9], got, p.On)
	}
	for row, limit := range map[int]float64{3: 700, 4: 400, 6: 400} {
		if got := watts(row) / limit; got > p.Held+1e-6 || got < p.Held-1e-6 {
			t.Errorf("%v draws %g of its limit, not %g", rows[row], got, p.Held)
		}
	}
	if product, step := micros(4)/micros(3), micros(6)/micros(5); product < 1.3 || step > product || step < 1.05 {
		t.Errorf("400 W take a product %g times as long and a decode step %g times", product, step)
	}
	if got, want := watts(7), (watts(5)+p.On)/2; got < 0.97*want || got > 1.05*want {
		t.Errorf("half of the time draws %g W, not about %g", got, want)
	}
	for row, want := range map[int]string{8: `unknown kind "flux"`, 9: `limit_w: "-5" is not a number above 0`} {
		if got := rows[row][11]; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
	}
}

// TestNoPowerNoWatts: a system without the block predicts nothing, and says so.
func TestNoPowerNoWatts(t *testing.T) {
	r, rows := predictPower(t, "H20_96G", "gemm,bf16,m=16384;n=8192;k=8192,2199023255552,671088640,,,700\n")
	if r.Predicted() != 0 || !strings.Contains(rows[1][11], "H20_96G has no block \"power\"") {
		t.Errorf("%d predictions, %v", r.Predicted(), rows[1])
	}
}

// TestFitKeepsWhatNoRowShows: energies of other number types, of links and of the host, and what
// the controller averages over.
func TestFitKeepsWhatNoRowShows(t *testing.T) {
	s := *builtin.System(t, "H200")
	power := *s.Power
	power.Window, power.HostByte, power.Flop = 0.25, 70, map[string]float64{"bfloat16": 0.5, "float8": 0.3, "int8": 0.33}
	s.Power = &power
	q := question.DefaultOf(question.CalibratePower)
	q.System = "H200"
	fit, err := validate.FitPower(context.Background(), "power.csv", strings.NewReader(powerHeader+"gemm,bf16,m=16384;n=8192;k=8192,2199023255552,671088640,3409,2.34,700\n"), &s, q)
	if err != nil {
		t.Fatal(err)
	}
	if p := fit.Power; p.Window != 0.25 || p.HostByte != 70 || p.Flop["float8"] != 0.3 || p.Flop["int8"] != 0.33 || p.Flop["bfloat16"] == 0.5 {
		t.Errorf("%+v", p)
	}
}

// TestFitOfFewRows: one row of a clock that the limit holds down leaves rests and clocks as they
// are, and is not called a measured chip; a limit that nobody says is asked for; a chip that takes
// more at rest than just after work is as hot with its clocks up.
func TestFitOfFewRows(t *testing.T) {
	const header = "kind,dtype,params,flops,bytes,time_us,joules,sm_mhz,limit_w\n"
	const gemm = "gemm,bf16,m=16384;n=8192;k=8192,2199023255552,671088640,3409,2.34,1452,"
	fit := func(system, rows string) (*validate.PowerFit, error) {
		q := question.DefaultOf(question.CalibratePower)
		q.System = system
		return validate.FitPower(context.Background(), "power.csv", strings.NewReader(header+rows), builtin.System(t, system), q)
	}
	one, err := fit("H200", gemm+"700\n")
	if err != nil {
		t.Fatal(err)
	}
	was := builtin.System(t, "H200").Power
	if p := one.Power; p.Clock.MHz != was.Clock.MHz || p.Rest != was.Rest || p.On != was.On || p.Origin != hardware.FittedPower {
		t.Errorf("%+v", p)
	}
	if e := one.Errors[0]; e.Rows != 1 {
		t.Errorf("%+v", e)
	}
	hot, err := fit("H200", gemm+"700\nidle,,state=before,0,0,3000000,600,345,700\n")
	if err != nil {
		t.Fatal(err)
	}
	if p := hot.Power; p.Rest != 200 || p.On != 200 {
		t.Errorf("%+v", p)
	}
	if _, err := fit("H20_96G", gemm+"\n"); err == nil || !strings.Contains(err.Error(), "no row has its limit_w") {
		t.Errorf("%v", err)
	}
}

// TestKernelsWithRests: a product that works half of the time takes twice as long, at the mean of
// its watts at the full clock and those of waiting.
func TestKernelsWithRests(t *testing.T) {
	const gemm = "gemm,bf16,m=64;n=8192;k=8192"
	const end = ",8589934592,136314880,,,700\n"
	_, rows := predictPower(t, "H200", gemm+end+gemm+";duty=0.5"+end)
	p := builtin.System(t, "H200").Power
	micros, watts := number(t, rows[2][8])/number(t, rows[1][8]), number(t, rows[2][10])
	if mean := (number(t, rows[1][10]) + p.On) / 2; micros < 1.9 || micros > 2 || watts < mean || watts > 1.1*mean {
		t.Errorf("%g times as long, at %g W: the mean is %g", micros, watts, mean)
	}
}

// TestMeasuredPower: shapes, limits and whole kinds that a fit has not seen, on the measured H200.
func TestMeasuredPower(t *testing.T) {
	const name = "../../../shared/measurements/h200/power/power.csv"
	f, err := os.Open(name)
	if err != nil {
		t.Skip("no table of measured power: ", err)
	}
	defer f.Close()
	q := question.DefaultOf(question.CalibratePower)
	q.System = "H200"
	s := builtin.System(t, "H200")
	fit, err := validate.FitPower(context.Background(), name, f, s, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range fit.Errors[:4] {
		if e.Joules > 6 || e.MostJoules > 15 || e.Seconds > 6 {
			t.Errorf("%s: joules %.1f%% in the median, %.1f%% for nine of ten, times %.1f%%", e.Of, e.Joules, e.MostJoules, e.Seconds)
		}
	}
	if !reflect.DeepEqual(&fit.Power, s.Power) {
		t.Errorf("the block of the catalogue is %+v, a fit %+v", *s.Power, fit.Power)
	}
}

// TestServingEnergy: joules of ML.ENERGY's runs on H100s.
func TestServingEnergy(t *testing.T) {
	const name = "../../../shared/measurements/fresh/energy.csv"
	f, err := os.Open(name)
	if err != nil {
		t.Skip("no table of energy: ", err)
	}
	defer f.Close()
	r, err := validate.Energy(context.Background(), name, f, question.DefaultOf(question.Joules))
	if err != nil {
		t.Fatal(err)
	}
	for _, total := range r.Totals() {
		if total.Group == "h100" && (total.Rows < 150 || total.Median > 20) {
			t.Errorf("%s: %d rows, %.1f%% in the median", total.Figure, total.Rows, total.Median)
		}
	}
}

// TestEnergyTasks: what stands in for prompts that a table does not have depends on the task and on
// how a model reads pictures; greedy decoding sorts nothing, which takes less of everything.
func TestEnergyTasks(t *testing.T) {
	joules := func(model, task string) float64 {
		t.Helper()
		table := "model,system,num_gpus,framework,version,task,osl_mean,max_batch,joules_per_output_token,flags\n" +
			model + ",H100,1,vllm,0.11.1," + task + ",500,32,1,multimodal\n"
		r, err := validate.Energy(context.Background(), "runs.csv", strings.NewReader(table), question.DefaultOf(question.Joules))
		if err != nil {
			t.Fatal(err)
		}
		f := r.Rows[0].Figures[0]
		if f.Reason != "" || f.Predicted <= 0 {
			t.Fatalf("%s, %s: %g joules, %s", model, task, f.Predicted, f.Reason)
		}
		return f.Predicted
	}
	if code, chat := joules("google/codegemma-7b", "code"), joules("google/codegemma-7b", "chat"); code >= chat {
		t.Errorf("code, whose 256,000 logits nobody sorts, takes %g J per token, chat %g", code, chat)
	}
	const gemma, qwen = "google/gemma-3-12b-it", "Qwen/Qwen3-VL-8B-Instruct"
	if picture, text := joules(gemma, "image-chat"), joules(gemma, "gpqa"); math.Abs(picture/text-1) > 0.05 {
		t.Errorf("256 tokens of a picture take %g J per token of the answer, 300 of text %g", picture, text)
	}
	if video, picture := joules(qwen, "video-chat"), joules(qwen, "image-chat"); video <= picture {
		t.Errorf("a video takes %g J per token of the answer, a picture %g", video, picture)
	}
}
