package measurement

import (
	"bytes"
	"math"
	"testing"
)

// FuzzRead: whatever a table holds, each of its rows is used with a time and dimensions that make
// sense, or has a reason and a place.
func FuzzRead(f *testing.F) {
	for _, seed := range []struct{ name, table string }{
		{"ops.csv", "kind,dtype,params,flops,bytes,time_us\ngemm,bf16,m=1;n=2;k=3,12,22,5\nattn_decode,bf16,b=1;s=2;h=4;hk=2;d=8,1,1,inf\ngemm,bf16,m=-1;n;k=3,,,\n"},
		{"perf.csv", "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\nSGLang,0.5,NVIDIA H200,gemm,deep_gemm,fp8_block,1,128,256,0.01\n"},
		{"gemm/h20/data.csv", "m,k,n,latency_us,mfu\n1,2,3,4,0.5\n"},
		{"mha/decode/h20/32-8-128.csv", "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,1,1024,10,0.1\n"},
		{"mha/decode/h20/32-8-128.csv", "bf16,bf16,1,1024,10,0.1\n\"\n"},
	} {
		f.Add(seed.name, []byte(seed.table))
	}
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		table, err := Read(name, bytes.NewReader(src))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		for i := range table.Rows {
			r := &table.Rows[i]
			if !(r.Seconds > 0) || math.IsInf(r.Seconds, 1) || r.Line < 1 {
				t.Errorf("%s takes %v s", r.Place(), r.Seconds)
			}
			for _, d := range r.dims {
				if d < 0 {
					t.Errorf("%s: %s", r.Place(), r.Shape())
				}
			}
		}
		for _, p := range table.Problems {
			if p.Line < 1 || p.Reason == "" {
				t.Errorf("a problem without a place or a reason: %v", p)
			}
		}
	})
}
