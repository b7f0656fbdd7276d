package hardware

import (
	"bytes"
	"encoding/json"

	"throughline/hardware/kernel"
	"throughline/internal/document"
)

// NumberTypes are the element types a rate can be given for, and the bytes one element takes.
var NumberTypes = []struct {
	Name  string
	Bytes float64
}{
	{"float4", 0.5}, {"int4", 0.5}, {"float8", 1}, {"int8", 1}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4},
}

// TypeBytes is the size of one element of a number type; 0 for an unknown one.
func TypeBytes(name string) float64 {
	for _, t := range NumberTypes {
		if t.Name == name {
			return t.Bytes
		}
	}
	return 0
}

// IsWidth reports whether some number type takes this many bytes.
func IsWidth(bytes float64) bool {
	for _, t := range NumberTypes {
		if t.Bytes == bytes {
			return true
		}
	}
	return false
}

// File is the system format. Tags drive the strict decoder, the JSON Schema and the key list in
// docs/formats.md. The bounds leave room for any hardware, but not for wrong units or overflows.
type File struct {
	Name        string                `json:"name" aka:"model,system" required:"true" nonempty:"true" line:"true" doc:"name of the system, as printed in results"`
	Type        string                `json:"type" doc:"family of the hardware; \"sow\" hides collectives behind computation (collective_overlap 1)"`
	Maker       string                `json:"maker" doc:"maker of the chip; engines that run on chips of some makers only refuse those of others; absent: they run"`
	Generation  string                `json:"generation" enum:"Ampere,Ada,Hopper,Blackwell,Blackwell RTX,CDNA 2,CDNA 3,CDNA 4,Ascend,Gaudi 2,Gaudi 3,TPU v5,TPU v6,TPU v7,Xeon,Xe2,Apple" doc:"generation of the chip, by which engines choose kernels of attention and of products, and refuse weights that they do not run there; absent: that of the built-in system of this name, or of the one that its kernels were measured on if it has the same peaks, else not known"`
	Formats     []string              `json:"formats" enum:"nvfp4,mxfp4,fp8,int8,int4,fp16,bf16,fp32" doc:"number formats that the matrix units multiply; absent: all whose type has a rate"`
	Units       int                   `json:"multiprocessors" range:"[1,1000000]" doc:"multiprocessors of the chip, over which kernels are spread tile by tile; absent: kernels of indexers are taken to fill it"`
	Indexing    float64               `json:"index_efficiency" range:"[1e-6,1]" doc:"share of the peak of 8 bits that kernels of the indexers of sparse attention reach on prompts; absent: that of the matrix unit"`
	Matrix      map[string]matrixFile `json:"matrix" required:"true" nonempty:"true" keys:"float4,int4,float8,int8,float16,bfloat16,float32" doc:"matrix unit, by number type"`
	Vector      map[string]vectorFile `json:"vector" required:"true" nonempty:"true" keys:"float4,int4,float8,int8,float16,bfloat16,float32" doc:"vector unit, by number type"`
	Mem1        memoryFile            `json:"mem1" required:"true" doc:"device memory"`
	Mem2        *memory2File          `json:"mem2" doc:"second memory tier"`
	Mode        string                `json:"processing_mode" enum:"roofline,no_overlap" doc:"roofline: an operator takes the longer of compute and memory time; no_overlap: their sum"`
	Power       *Power                `json:"power" doc:"what the chip draws, and how its clock follows a power limit; absent: no watts are predicted"`
	Economics   *Economics            `json:"economics" doc:"what the chip costs to rent, to buy and to make; absent: no dollars"`
	Networks    []networkFile         `json:"networks" required:"true" nonempty:"true" doc:"interconnect levels, innermost first"`
	ProcsPerNPU int                   `json:"procs_per_npu" range:"[1,1000000]" doc:"processors on one card"`
	Overlap     *float64              `json:"collective_overlap" range:"[0,1]" doc:"share of every collective hidden behind computation; default 1 for type \"sow\", else 0"`
	Kernels     kernelsFile           `json:"kernels" doc:"calibrated models of kernels, as throughline calibrate writes them, or the name of built-in ones"`
	Efficiency  map[string]float64    `json:"kernel_efficiency" keys:"products,experts,attention,elementwise,collectives,memory" range:"(0,1]" doc:"share of the speed of the kernels, which were measured on another chip, by kind: products, experts, attention, elementwise, collectives; memory: share of the bandwidth of the first three, whose own then is one of operations"`
	Launch      float64               `json:"kernel_launch" range:"[0,1]" unit:"s" doc:"seconds that a kernel takes longer than on the chip where it was measured"`
	WeightOnly  float64               `json:"kernel_weight_only" range:"[1,1000]" doc:"how many times as fast as weights of 16 bits those of fewer bits are at most that are multiplied in 16, on chips that unpack them through memory; absent: as their bytes say"`
	Remark      string                `json:"exchange_remark" line:"true" doc:"what answers say first about deployments whose processors exchange something"`
	Sources     map[string]string     `json:"sources" doc:"where each number comes from"`
	// Chosen are the numbers chosen with the runs in view that predictions are judged by, by path.
	Chosen map[string]document.Chosen `json:"chosen" doc:"numbers that were chosen with results in view, with the runs and the date"`
}

type matrixFile struct {
	TFlops      float64       `json:"tflops" required:"true" range:"[1e-6,1e9]" doc:"peak rate in T operations per second"`
	Calibration float64       `json:"calibration_coefficient" range:"[1e-6,1]" doc:"achievable share of the peak"`
	Efficiency  [][4]*float64 `json:"gflops_efficiency" nonempty:"true" form:"[m, n, k, efficiency]" doc:"rows [m, n, k, efficiency]: the first whose bounds are all reached; null: no bound; last row all null"`
}

func (m *matrixFile) SetDefaults() { m.Calibration = 1 }

type vectorFile struct {
	TFlops      float64      `json:"tflops" required:"true" range:"[1e-6,1e9]" doc:"peak rate in T operations per second"`
	Calibration float64      `json:"calibration_coefficient" range:"[1e-6,1]" doc:"achievable share of the peak"`
	Efficiency  [][2]float64 `json:"gflops_efficiency" nonempty:"true" range:"[0,inf)" form:"[Gflop, efficiency]" doc:"rows [Gflop, efficiency], large to small: the first the operator reaches"`
}

func (v *vectorFile) SetDefaults() { v.Calibration = 1 }

type memoryFile struct {
	GiB         float64      `json:"GiB" required:"true" range:"[1e-6,1e9]" doc:"capacity"`
	GBps        float64      `json:"GBps" required:"true" range:"[1e-6,1e9]" doc:"bandwidth"`
	Calibration float64      `json:"calibration_coefficient" range:"[1e-6,1]" doc:"achievable share of the bandwidth"`
	Page        float64      `json:"page_attention_calibration_coefficient" range:"[1e-6,1e6]" doc:"further factor on the memory efficiency of attention operators in decode"`
	PagePrefill float64      `json:"page_attention_calibration_coefficient_prefill" range:"[1e-6,1e6]" doc:"the same in prefill"`
	KV          float64      `json:"kv_cache_calibration_coefficient" range:"[1e-6,1e6]" doc:"further factor on the memory efficiency of cache reads in decode"`
	KVPrefill   float64      `json:"kv_cache_calibration_coefficient_prefill" range:"[1e-6,1e6]" doc:"the same in prefill"`
	Efficiency  [][2]float64 `json:"MB_efficiency" nonempty:"true" range:"[0,inf)" form:"[MB, efficiency]" doc:"rows [MB, efficiency], large to small: the first the operator's bytes reach"`
	New         *newFile     `json:"new" doc:"memory that a process allocates, of a CPU; absent: it costs nothing"`
}

// newFile is memory that the operating system hands out.
type newFile struct {
	GBps       float64 `json:"GBps" required:"true" range:"[1e-6,1e9]" doc:"rate at which all cores together touch new memory for the first time"`
	ThreadGBps float64 `json:"thread_GBps" required:"true" range:"[1e-6,1e9]" doc:"the same of one core"`
	MiB        float64 `json:"MiB" range:"[0,1e9]" doc:"smallest result whose memory is new every time"`
}

func (n *newFile) SetDefaults() { n.MiB = largestKept }

func (n *newFile) memory() *NewMemory {
	if n == nil {
		return nil
	}
	return &NewMemory{n.GBps, n.ThreadGBps, n.MiB}
}

// largestKept is the largest block that glibc keeps for the next allocation,
// DEFAULT_MMAP_THRESHOLD_MAX in its malloc.c; larger ones go back to the operating system.
const largestKept = 32

type memory2File struct {
	GiB        float64      `json:"GiB" required:"true" range:"[1e-6,1e9]" doc:"capacity"`
	GBps       float64      `json:"GBps" required:"true" range:"[1e-6,1e9]" doc:"bandwidth"`
	HostGBps   float64      `json:"host_GBps" range:"[0,1e9]" doc:"bandwidth at which the host's own processor reads it, where an engine runs layers there"`
	Efficiency [][2]float64 `json:"MB_efficiency" nonempty:"true" range:"[0,inf)" form:"[MB, efficiency]" doc:"as in mem1"`
}

type networkFile struct {
	Bandwidth      float64           `json:"bandwidth" required:"true" range:"[1e-6,1e9]" doc:"GB/s of one processor on this level"`
	Efficiency     float64           `json:"efficiency" range:"[1e-6,1]" doc:"achievable share of the bandwidth"`
	Topology       string            `json:"topology" enum:"2dfm,fullmesh,ring,switch,torus,fattree" doc:"how the processors of a group are joined"`
	Library        string            `json:"library" enum:"plain,nccl" doc:"what drives collectives across this level: nccl with its protocols and their latencies, or plain, hops and volumes alone"`
	Formula        bool              `json:"formula" doc:"collectives within the innermost level take the formula of the network even where kernels hold measured ones, which are of another host"`
	DBEfficiency   [][2]float64      `json:"DB_efficiency" nonempty:"true" range:"[0,inf)" form:"[MB, efficiency]" doc:"rows [MB, efficiency], large to small, by message size"`
	Size           int               `json:"size" required:"true" range:"[1,1e9]" doc:"processors in one group of this level"`
	Latency        float64           `json:"latency" required:"true" range:"[0,1]" unit:"s" doc:"seconds per hop"`
	Ops            map[string]opFile `json:"ops" required:"true" keys:"p2p,reduce_scatter,all_gather,all_reduce,all2all" doc:"volume and efficiency by communication pattern"`
	ProcessorUsage float64           `json:"processor_usage" range:"[0,1)" doc:"share of compute that communication takes while it overlaps"`
}

func (n *networkFile) SetDefaults() { n.Efficiency, n.Topology, n.Library = 1, "switch", "plain" }

type opFile struct {
	Scalar [2]*float64  `json:"op_scalar" required:"true" range:"[-1,1e6]" form:"[scale, offset]" doc:"[s, o]: volume = bytes · s · (1 + o/n) in a group of n; null: 0"`
	Groups [][2]float64 `json:"bandwidth_eff" required:"true" nonempty:"true" range:"(0,1e9]" form:"[group size, efficiency]" doc:"rows [n, efficiency]: exact group size, else the lowest efficiency listed"`
}

var collectiveKeys = [CollectiveCount]string{"p2p", "reduce_scatter", "all_gather", "all_reduce", "all2all"}

// Key is the name of the pattern in a file.
func (c Collective) Key() string { return collectiveKeys[c] }

func defaults() File {
	return File{
		Mode: "roofline", ProcsPerNPU: 1,
		Mem1: memoryFile{Calibration: 1, Page: 1, PagePrefill: 1, KV: 1, KVPrefill: 1},
	}
}

// Read reads a system file. The problems, if any, are in the returned document.
func Read(name string, src []byte) (*System, *document.File) {
	doc := document.Parse(name, src)
	f := defaults()
	doc.Decode(&f)
	r := reader{doc}
	s := r.system(&f)
	if doc.Err() != nil {
		return nil, doc
	}
	return s, doc
}

func Schema() ([]byte, error) {
	f := defaults()
	return document.Schema("Throughline system", "system.schema.json", &f)
}

// kernelsFile is calibrated kernels, or the name of built-in ones. Programs write them, so one
// message covers all that is wrong with them.
type kernelsFile struct{ set *kernel.Set }

func (k *kernelsFile) DecodeDocument(v document.Value) {
	var err error
	switch v.Kind() {
	case document.Null:
	case document.String:
		name, _ := v.String()
		var ok bool
		if k.set, ok = builtInKernels(name); !ok {
			v.Problemf("%s", document.NotOneOf(name, Kernels.Names()))
		}
	default:
		k.set, err = decodeKernels(v.JSON())
	}
	if err != nil {
		v.Problemf("are not what throughline calibrate writes: %v", err)
	}
}

func decodeKernels(src []byte) (*kernel.Set, error) {
	var set kernel.Set
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&set); err != nil {
		return nil, err
	}
	if err := set.Check(); err != nil {
		return &set, err
	}
	set.Share()
	return &set, nil
}

func (k *kernelsFile) DocumentSchema() map[string]any {
	return map[string]any{"type": []any{"object", "string", "null"}}
}

func (f *File) borrowed() Borrowed {
	out := Borrowed{Memory: f.Efficiency["memory"], Launch: f.Launch, WeightOnly: f.WeightOnly}
	for kind, name := range kernel.Kinds {
		out.Efficiency[kind] = f.Efficiency[name]
	}
	return out
}
