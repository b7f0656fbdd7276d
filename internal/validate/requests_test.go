package validate

import (
	"context"
	"os"
	"testing"
)

const recordedRuns = "../../../shared/measurements/h200/engine"

func needRuns(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(recordedRuns); err != nil {
		t.Skip("the recorded runs are not here")
	}
}

// TestRecordedSteps: with the times of the recorded steps, every step does what the engine did.
func TestRecordedSteps(t *testing.T) {
	needRuns(t)
	r, err := Requests(context.Background(), recordedRuns, RequestsOptions{Steps: "recorded"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Steps != 45312 || r.Equal != r.Steps {
		t.Errorf("%d of %d steps equal: %q", r.Equal, r.Steps, r.Differences)
	}
	for _, m := range r.Metrics {
		if e := m.Error(); e > 0.01 || e < -0.01 {
			t.Errorf("%+v", m)
		}
	}
}
