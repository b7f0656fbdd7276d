package hardware

import (
	"cmp"
	"math"
)

// Power is what a chip draws and how its clock follows. Energies are of the full clock and voltage.
type Power struct {
	Rest     float64            `json:"rest_W" required:"true" range:"[0,1e6]" doc:"watts at rest: nothing has run for seconds and the clocks are down"`
	On       float64            `json:"on_W" required:"true" range:"[0,1e6]" doc:"watts while the clocks are up and nothing runs"`
	Busy     float64            `json:"busy_W" required:"true" range:"[0,1e6]" doc:"watts that any running kernel adds, whatever it does"`
	Limit    float64            `json:"limit_W" required:"true" range:"[1,1e6]" doc:"power limit as delivered"`
	Held     float64            `json:"held" range:"[0.5,1]" doc:"share of a limit that load draws which the limit slows down"`
	Window   float64            `json:"window_s,omitempty" range:"[0,60]" doc:"seconds that the controller of the limit averages over: work that follows a rest runs that long at the full clock; absent: not known, none"`
	Clock    Clock              `json:"clock" required:"true" doc:"how clock and voltage of the multiprocessors follow each other"`
	Flop     map[string]float64 `json:"pJ_per_flop" required:"true" nonempty:"true" keys:"float4,int4,float8,int8,float16,bfloat16,float32" range:"[0,1e6]" doc:"picojoules of an operation of the matrix unit on random numbers, by number type"`
	Byte     float64            `json:"pJ_per_byte" required:"true" range:"[0,1e6]" doc:"picojoules of a byte of memory, read or written"`
	CoreByte float64            `json:"core_pJ_per_byte,omitempty" range:"[0,1e6]" doc:"picojoules that such a byte takes besides where it passes registers and vector units: attention of decode steps, element-wise kernels"`
	Link     []float64          `json:"link_pJ_per_byte,omitempty" range:"[0,1e6]" doc:"picojoules of a byte sent, by network level; a level that is not listed takes that of the last"`
	HostByte float64            `json:"host_pJ_per_byte,omitempty" range:"[0,1e6]" doc:"picojoules of a byte to or from the host"`
	Empty    float64            `json:"empty_lanes" range:"[0,1]" doc:"share of the energy of an operation that an operation on zeros takes, as in tiles that few rows fill"`
	Issue    float64            `json:"issue" range:"[0,1]" doc:"clocked time of kernels that only wait for memory, as a share of the time of memory at the full clock; the two add up as squares"`
	Host     float64            `json:"host_W,omitempty" range:"[0,1e6]" doc:"watts of the machine besides its chips, for each of them; absent: not known"`
	Origin   string             `json:"origin" required:"true" enum:"measured,fitted,estimated" doc:"measured: fitted to measured power of the chip; fitted: some numbers are fitted to runs of it, the others carried; estimated: all carried from other chips by process and format"`
}

// Clock is the range of a clock, and the voltage along it.
type Clock struct {
	MHz     float64 `json:"MHz" required:"true" range:"[1,1e5]" doc:"highest clock"`
	Lowest  float64 `json:"lowest_MHz" required:"true" range:"[1,1e5]" doc:"lowest clock that a limit leads to"`
	Knee    float64 `json:"knee" range:"(0,1)" doc:"share of the highest clock below which the voltage falls no further"`
	Voltage float64 `json:"knee_voltage" range:"(0,1]" doc:"share of the highest voltage there; linear from there to the highest clock"`
}

func (p *Power) SetDefaults() { p.Held = 1 }

func (c *Clock) SetDefaults() { c.Knee, c.Voltage = 0.5, 1 }

// Floor is the lowest clock, as a share of the highest.
func (c *Clock) Floor() float64 { return math.Min(1, c.Lowest/c.MHz) }

// Squared is the square of the voltage at a share of the highest clock, relative to that there.
func (c *Clock) Squared(share float64) float64 {
	above := 1.0
	if share != 1 { // nearly all are asked for the full clock
		above = max(0, (share-c.Knee)/(1-c.Knee))
	}
	v := c.Voltage + (1-c.Voltage)*above
	return v * v
}

// LinkByte is the joules of a byte sent over a network level, the innermost being 0.
func (p *Power) LinkByte(level int) float64 {
	if len(p.Link) == 0 {
		return 0
	}
	return picojoule * p.Link[min(level, len(p.Link)-1)]
}

// Average is what the controller of a limit sees after drawing some watts for some seconds: a mean
// in which a window ago counts e times less. Without a window it sees what is drawn now.
func (p *Power) Average(before, watts, seconds float64) float64 {
	if p.Window <= 0 {
		return watts
	}
	return watts + (before-watts)*math.Exp(-seconds/p.Window)
}

// Limit is the power limit in watts where the power is known: as delivered, or as asked for.
func (s *System) Limit() float64 { return min(cmp.Or(s.PowerLimit, s.Power.Limit), s.Power.Limit) }

// Origins of a block: measured power of the chip shows all of it, or some of it.
const (
	MeasuredPower = "measured"
	FittedPower   = "fitted"
)

const picojoule = 1e-12
