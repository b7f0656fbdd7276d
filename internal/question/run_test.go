package question

import "testing"

// TestMissingWorkers: a row without servers gives the same reason each time it is read.
func TestMissingWorkers(t *testing.T) {
	cells := map[string]string{"mode": "disagg", "isl": "1000", "osl": "100", "concurrency": "8"}
	for range 50 {
		_, err := OfRun(Default(), func(column string) string { return cells[column] })
		if want := "prefill_num_workers must be at least 1, not 0"; err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	}
}

// TestDevices: JAX counts a TPU v7 as two devices (docs.cloud.google.com/tpu/docs/tpu7x), so that 8
// ranks on 4 chips are halves of chips, and 4 on 4 are chips; of a TPU v6e each is a chip.
func TestDevices(t *testing.T) {
	for _, c := range []struct {
		system, gpus, tp, ep string
		wantTP, wantEP       int
	}{
		{"TPU_v7", "4", "8", "8", 4, 4}, {"TPU_v7", "4", "8", "", 4, 0}, {"TPU_v7", "4", "4", "4", 4, 4}, {"TPU_v7", "", "8", "8", 8, 8}, {"TPU_v6e", "4", "8", "8", 8, 8},
	} {
		cells := map[string]string{"model": "Qwen3-8B", "system": c.system, "num_gpus": c.gpus, "tp": c.tp, "ep": c.ep, "isl": "1024", "osl": "1024", "concurrency": "128"}
		q, err := OfRun(Default(), func(column string) string { return cells[column] })
		if err != nil || q.TP != c.wantTP || q.EP != c.wantEP {
			t.Errorf("%+v: tp %d, ep %d, %v", c, q.TP, q.EP, err)
		}
	}
}
