package calibrate

import (
	"strings"
	"testing"

	"throughline/measurement"
)

// TestUngrouped: the Triton kernel of decode is another one where every head has keys of its own.
func TestUngrouped(t *testing.T) {
	const head = "framework,version,device,op_name,kernel_source,attn_dtype,kv_cache_dtype,batch_size,isl,num_heads," +
		"num_key_value_heads,head_dim,step,latency\n"
	tab, err := measurement.Read("x.csv", strings.NewReader(head+
		"x,1,x,generation_attention,triton,bfloat16,bfloat16,1,1,8,2,128,255,1\n"+
		"x,1,x,generation_attention,triton,bfloat16,bfloat16,1,1,8,8,128,255,1\n"+
		"x,1,x,generation_attention,fa3,bfloat16,bfloat16,1,1,8,8,128,255,1\n"))
	if err != nil || len(tab.Rows) != 3 {
		t.Fatal(err, tab.Problems)
	}
	for i, want := range []string{"triton", "triton ungrouped", "fa3"} {
		if c, _ := classOf(&tab.Rows[i]); c.kernel != want {
			t.Errorf("%s, not %s", c.kernel, want)
		}
	}
}
