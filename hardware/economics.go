package hardware

import "math"

// Economics is what a chip costs to rent, to buy and to make; what nobody has published is absent.
type Economics struct {
	PerHour  *Price  `json:"per_hour" doc:"dollars per processor and hour"`
	Purchase *Price  `json:"purchase" doc:"dollars of a processor"`
	Dies     []Die   `json:"dies" doc:"dies of a processor, besides those of its memory"`
	Package  float64 `json:"package_dollars" range:"[0,1e6]" doc:"dollars of a package, and of putting dies and memory into it; absent: not known"`
	Memory   float64 `json:"memory_dollars_per_GB" range:"[0,1e4]" doc:"dollars per GB of the device memory; absent: not known"`
}

// Price is what somebody asked for at some time.
type Price struct {
	Dollars float64 `json:"dollars" required:"true" range:"[0,1e7]" doc:"dollars"`
	Date    string  `json:"date" required:"true" nonempty:"true" line:"true" doc:"when that was the price"`
	Source  string  `json:"source" required:"true" nonempty:"true" line:"true" doc:"who says so"`
}

// Die is one kind of dies, and what a wafer of them costs.
type Die struct {
	Area    float64 `json:"mm2" required:"true" range:"[0.1,100000]" doc:"area"`
	Count   int     `json:"count" range:"[1,10000]" doc:"how many a processor has"`
	Wafer   float64 `json:"wafer_dollars" required:"true" range:"[0,1e7]" doc:"dollars of a wafer"`
	Defects float64 `json:"defects_per_cm2" required:"true" range:"[0,100]" doc:"defects per cm² of a wafer"`
	Cluster float64 `json:"clustering" range:"[0.01,1e6]" doc:"how much defects cluster: the more, the less"`
	Across  float64 `json:"wafer_mm" range:"[1,10000]" doc:"diameter of a wafer"`
	Edge    float64 `json:"edge_mm" range:"[0,1000]" doc:"width of its edge, which holds no die"`
	Scribe  float64 `json:"scribe_mm" range:"[0,100]" doc:"width of the lanes between dies"`
}

func (d *Die) SetDefaults() { d.Count, d.Cluster, d.Across = 1, 10, 300 }

// PerWafer is the dies of a wafer, whole or not: those that its area would hold less those that its
// edge cuts, as in Hennessy and Patterson, Computer Architecture, and in Chiplet Actuary (Feng and
// Ma, DAC 2022; N_die_total in chip.py of Yinxiao-Feng/chiplet-actuary at b85c29f8).
func (d *Die) PerWafer() float64 {
	area := d.Area + 2*d.Scribe*math.Sqrt(d.Area) + d.Scribe*d.Scribe
	across := d.Across - 2*d.Edge
	return max(0, math.Pi*across*across/4/area-math.Pi*across/math.Sqrt(2*area))
}

// Yield is the share of good dies by the negative binomial distribution of defects, as there.
func (d *Die) Yield() float64 {
	const mm2PerCm2 = 100
	return math.Pow(1+d.Defects/mm2PerCm2*d.Area/d.Cluster, -d.Cluster)
}

// Dollars of a good die; infinite where a wafer holds none.
func (d *Die) Dollars() float64 { return d.Wafer / (d.PerWafer() * d.Yield()) }

// Silicon is the dollars of the good dies of a processor.
func (e *Economics) Silicon() (dollars float64) {
	for i := range e.Dies {
		dollars += float64(e.Dies[i].Count) * e.Dies[i].Dollars()
	}
	return dollars
}

// LargestDie is the area of the largest die of a processor in mm², which masks limit.
func (e *Economics) LargestDie() (mm2 float64) {
	for i := range e.Dies {
		mm2 = max(mm2, e.Dies[i].Area)
	}
	return mm2
}

// SiliconArea is the area of all dies of a processor in mm².
func (e *Economics) SiliconArea() (mm2 float64) {
	for i := range e.Dies {
		mm2 += float64(e.Dies[i].Count) * e.Dies[i].Area
	}
	return mm2
}

// SiliconArea is that of a processor, if it is known.
func (s *System) SiliconArea() (mm2 float64, known bool) {
	if s.Economics == nil || len(s.Economics.Dies) == 0 {
		return 0, false
	}
	return s.Economics.SiliconArea(), true
}

// Worth is what a processor costs to make or, where that is not known, to buy.
func (s *System) Worth() (dollars float64, known bool) {
	if s.Economics == nil {
		return 0, false
	}
	if dollars, known = s.Economics.Made(s.Memory.GiB); !known && s.Economics.Purchase != nil {
		return s.Economics.Purchase.Dollars, true
	}
	return dollars, known
}

// Made is what it costs to make a processor, by its memory; false where a part is unknown.
func (e *Economics) Made(gib float64) (dollars float64, known bool) {
	const bytesPerGB = 1e9
	if len(e.Dies) == 0 || e.Package == 0 || e.Memory == 0 {
		return 0, false
	}
	return e.Silicon() + e.Package + e.Memory*gib*(1<<30)/bytesPerGB, true
}

// OwnPrice is that of a processor per hour in dollars, and who says so; 0 where it is not known.
func (s *System) OwnPrice() (dollars float64, says *Price) {
	if says = s.Hourly(); says == nil {
		return 0, nil
	}
	return says.Dollars, says
}

// Hourly is the price of a processor per hour, if it is known.
func (s *System) Hourly() *Price {
	if s.Economics == nil {
		return nil
	}
	return s.Economics.PerHour
}
