package question

import "throughline/internal/document"

// Emulation is what is asked of a server that is emulated, besides its deployment.
type Emulation struct {
	Host        string
	Port        int
	Speed       float64
	Faults      string // list
	Served      string // name of the model; empty: its own
	Connections int
}

const (
	mostPort        = 65_535
	leastSpeed      = 0.001
	mostSpeed       = 10_000
	mostConnections = 1_000_000
)

var ofEmulation = []Setting{
	{Name: "host", For: Emulate, Apart: true,
		Doc: "address to listen on; 0.0.0.0 is all of this machine",
		Ref: func(q *Question) any { return &q.Emulation.Host }},
	{Name: "port", For: Emulate, Low: 0, High: mostPort, Apart: true,
		Doc: "port to listen on; 0: any that is free",
		Ref: func(q *Question) any { return &q.Emulation.Port }},
	{Name: "speed", For: Emulate, Low: leastSpeed, High: mostSpeed, Apart: true,
		Doc: "seconds of the simulation in a second",
		Ref: func(q *Question) any { return &q.Emulation.Speed }},
	{Name: "fault", For: Emulate, List: Text, Choices: []string{"errors:", "cut:", "stall:", "slow-start:", "die:"}, Open: true, Apart: true,
		Doc: "what goes wrong: errors:SHARE, cut:SHARE, stall:after=T,for=T, slow-start:T, die:replica=N,after=T",
		Ref: func(q *Question) any { return &q.Emulation.Faults }},
	{Name: "served-model-name", For: Emulate, Apart: true, Check: document.NotOneLine,
		Doc: "name of the model in requests (default: that of the model)",
		Ref: func(q *Question) any { return &q.Emulation.Served }},
	{Name: "max-connections", For: Emulate, Low: 1, High: mostConnections, Apart: true,
		Doc: "connections at a time",
		Ref: func(q *Question) any { return &q.Emulation.Connections }},
}
