package jobfile

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/test/racing"
)

func oneRun(t *testing.T) (*Job, Run) {
	t.Helper()
	jobs, _, err := Read(files.Machine, "test.json", []byte(`{"pd-split-request-optimal": {
		"model_list": ["deepseek_v3_flash_mla_absorb"], "sequence_length_list": [[128, 64], [256, 64]], "num_procs_list": [16], "pd_num_procs_list": [[8, 8]],
		"p_parallel_config": [[8, 1, 1]], "p_moe_parallel_config": [[8, 1, 1]], "p_micro_batch_size": [[4, 1, 4]],
		"decode_mtp_token_config": [0, 1],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float8", "float16"]],
		"time_limit_list": [[2000, 50]], "sys_list": [["H200", "H800_IB"]], "output": "out"
	}}`), &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0], jobs[0].At(0)
}

func of(v any) string {
	h := sha256.New()
	digest(h, reflect.ValueOf(v), nil)
	return string(h.Sum(nil))
}

// Runs that differ have different hashes, equal ones the same; a digest that is remembered is that
// of the thing itself.
func TestHash(t *testing.T) {
	job, r := oneRun(t)
	again, same := oneRun(t)
	other := job.At(1)
	first := job.Hash(&r)
	if first != again.Hash(&same) || first != job.Hash(&r) { // the second time from what is remembered
		t.Error("equal runs have different hashes")
	}
	if first == job.Hash(&other) {
		t.Error("different runs have the same hash")
	}
	if len(first) != 16 {
		t.Errorf("the hash is %q", first)
	}
}

// A field that is added is covered without being named anywhere.
func TestHashCoversFieldsToCome(t *testing.T) {
	_, r := oneRun(t)
	type later struct {
		Run
		Temperature float64
		Inner       struct{ Hops []int }
	}
	a, b, c := later{Run: r}, later{Run: r, Temperature: 1}, later{Run: r}
	c.Inner.Hops = []int{0}
	if of(a) == of(b) || of(a) == of(c) || of(b) == of(c) {
		t.Error("an added field does not change the hash")
	}
}

// Changing any field of a run, or of what it refers to, changes its hash.
func TestHashCoversEveryField(t *testing.T) {
	if racing.Enabled {
		t.Skip("nothing runs beside")
	}
	_, r := oneRun(t)
	before, changed := of(r), 0
	check := func(path string) {
		changed++
		if of(r) == before {
			t.Errorf("%s is not covered", path)
		}
	}
	vary(t, "Run", reflect.ValueOf(&r).Elem(), check)
	if of(r) != before {
		t.Fatal("the run was not put back")
	}
	if changed < 200 {
		t.Errorf("only %d fields were changed", changed)
	}
	// Of kernels, whose file form counts, one number.
	g := r.Prefill.System.Kernels.Gemm["float8"]
	g.Latency *= 2
	check("Kernels.Gemm.Latency")
	g.Latency /= 2
}

// vary changes the fields of a value one after another, calls check, and puts them back.
func vary(t *testing.T, path string, v reflect.Value, check func(path string)) {
	t.Helper()
	set := func(to any) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		check(path)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Bool:
		set(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		set(v.Int() + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		set(v.Uint() + 1)
	case reflect.Float32, reflect.Float64:
		set(v.Float() + 1)
	case reflect.String:
		set(v.String() + "x")
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() && !f.Anonymous {
				t.Errorf("%s.%s: a field that a test cannot change", path, f.Name)
				continue
			}
			vary(t, path+"."+f.Name, v.Field(i), check)
		}
	case reflect.Slice:
		set(reflect.Append(v, reflect.Zero(v.Type().Elem())).Interface())
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			vary(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i), check)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			old := v.MapIndex(key)
			v.SetMapIndex(key, reflect.Value{})
			check(fmt.Sprintf("%s[%v]", path, key))
			now := reflect.New(old.Type()).Elem()
			now.Set(old)
			vary(t, fmt.Sprintf("%s[%v]", path, key), now, func(path string) { v.SetMapIndex(key, now); check(path) })
			v.SetMapIndex(key, old)
		}
	case reflect.Pointer:
		if v.Type() != kernels && !v.IsNil() {
			vary(t, path, v.Elem(), check)
		}
	case reflect.Func:
	default:
		t.Errorf("%s: a %s", path, v.Kind())
	}
}
