package gold

import (
	"bytes"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzRead: answers that are read are written as they were read.
func FuzzRead(f *testing.F) {
	damage.Add(f, `{"throughline":"0.2.0","facts":{"engine/data/vllm.json":"6519d6f912b2"}}`+"\n"+`{"ask":{"model":"Llama-3.1-8B"},"figures":{"step decode s":0.01,"memory decode bytes":1e10}}`+"\n"+`{"ask":{},"refused":"no"}`+"\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Read(src)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := s.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := Read(first.Bytes())
		if err != nil {
			t.Fatalf("%v of %s", err, first.Bytes())
		}
		if err := again.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%v: %s, not %s", err, second.Bytes(), first.Bytes())
		}
	})
}
