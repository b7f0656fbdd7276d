package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
)

// Fleet is all servers of a deployment on the nodes of a cluster, and their router.
type Fleet struct {
	Engine   string    `json:"engine"`
	Version  string    `json:"version"`
	Model    string    `json:"model,omitempty"` // path or repository of the checkpoint; empty: MODEL must name it
	Nodes    int       `json:"nodes"`
	GPUs     int       `json:"gpus_per_node"`
	Servers  []Server  `json:"servers"`
	Router   *Router   `json:"router,omitempty"`
	Port     int       `json:"port"` // of the client address on node 0; 0: each server has its own
	Remarks  []string  `json:"remarks"`
	programs []program // of the roles
}

// Server at its place.
type Server struct {
	Name  string `json:"name"`
	Role  string `json:"role"`
	Nodes []int  `json:"nodes"` // numbers of its nodes
	// Devices of its only node; none: all of its nodes.
	Devices   []int             `json:"devices,omitempty"`
	Variables map[string]string `json:"env,omitempty"`
	Command   []string          `json:"command"`         // of each node, with the variables NODE_RANK and HEAD_IP
	Later     []string          `json:"later,omitempty"` // extra arguments of all nodes but the first
	Config    string            `json:"config,omitempty"`
	Port      int               `json:"port"`
	Bootstrap int               `json:"bootstrap_port,omitempty"`
	Side      int               `json:"side_channel_port,omitempty"`
}

// Router is the program that clients call.
type Router struct {
	Command []string `json:"command"`
	Config  string   `json:"config,omitempty"`
}

// program is the servers of a role: one command for all of them.
type program struct {
	role string
	unit unit
}

// Ports of servers. Those of a node are spaced so that the ports that engines derive do not
// collide: SGLang's schedulers listen from 234 above the first, one per replica
// (srt/server_args.py, PortArgs).
const (
	entryPort     = 8000  // for clients
	serverPort    = 30000 // of the first server of a node
	portStep      = 100
	bootstrapPort = 8998  // default of SGLang's prefill servers
	sidePort      = 15600 // of vLLM's servers that hand over caches
)

// devices is the variable that assigns processors to a process, by the maker of the chip.
var devices = map[string]string{"Huawei": "ASCEND_RT_VISIBLE_DEVICES", "Intel": "HABANA_VISIBLE_MODULES"}

// Fleet is how to start all servers of a deployment. The error says why the engine cannot run it.
func (e *Engine) Fleet(d *deploy.Deployment) (*Fleet, error) {
	f := &Fleet{Engine: e.Name, Version: e.Options.Version, Port: entryPort}
	var why []string
	for i := range d.Pools {
		why = append(why, e.Refuses(d, &d.Pools[i])...)
	}
	if d.Split() && !e.Pairs(&d.Pools[0].Plan, &d.Pools[1].Plan) {
		why = append(why, fmt.Sprintf("%s does not hand over from the one to the other", e.Title))
	}
	if len(why) > 0 {
		slices.Sort(why)
		return nil, fmt.Errorf("%s cannot run it: %s", e.Title, strings.Join(slices.Compact(why), "; "))
	}
	for i := range d.Pools {
		u := e.unit(d, &d.Pools[i])
		u.placed = true
		for _, r := range e.remarksOn(u) {
			if !slices.Contains(f.Remarks, r) { // remarks of the other pool may be the same
				f.Remarks = append(f.Remarks, r)
			}
		}
		f.Model, u.checkpoint = u.checkpoint, "" // given by a variable
		f.GPUs = u.perNode
		f.programs = append(f.programs, program{u.Role.String(), u})
	}
	f.place(d)
	f.number(e)
	f.front(e)
	return f, nil
}

// place assigns nodes to servers, first fit, with the order of pools that needs fewer. Pools of
// different processors share no node.
func (f *Fleet) place(d *deploy.Deployment) {
	first, last := make([]int, len(f.programs)), make([]int, len(f.programs))
	for i := range f.programs {
		first[i], last[i] = i, len(f.programs)-1-i
	}
	f.placeBy(d, first)
	if other := *f; len(f.programs) > 1 {
		if other.placeBy(d, last); other.Nodes < f.Nodes {
			*f = other
		}
	}
}

// placeBy places the servers of pools in an order.
func (f *Fleet) placeBy(d *deploy.Deployment, order []int) {
	var free vacancies
	placed := make([][]Server, len(f.programs))
	for _, i := range order {
		u, kind := f.programs[i].unit, ""
		if s := d.Pools[i].System; s != nil {
			kind = s.Name
		}
		for n := range u.servers {
			s := Server{Name: fmt.Sprintf("%s %d", f.programs[i].role, n+1), Role: f.programs[i].role}
			s.Nodes, s.Devices = free.take(&u, kind)
			placed[i] = append(placed[i], s)
		}
	}
	f.Servers = slices.Concat(placed...)
	f.Nodes = len(free)
}

// vacancies are those of all nodes.
type vacancies []vacancy

// vacancy is the unused devices of a node, and the kind of its processors.
type vacancy struct {
	devices int
	kind    string
}

// take finds room for a server: on the first node that has it, or on new ones.
func (v *vacancies) take(u *unit, kind string) (nodes, devices []int) {
	at := 0
	for at < len(*v) && ((*v)[at].devices < u.procs || (*v)[at].kind != kind) {
		at++
	}
	if at == len(*v) {
		for range u.nodes {
			*v = append(*v, vacancy{u.perNode, kind})
		}
	}
	if u.procs < u.perNode {
		first := u.perNode - (*v)[at].devices
		for k := range u.procs {
			devices = append(devices, first+k)
		}
	}
	for k := range u.nodes {
		nodes = append(nodes, at+k)
		(*v)[at+k].devices -= min(u.procs, u.perNode)
	}
	return nodes, devices
}

// number assigns ports, commands and variables to the servers.
func (f *Fleet) number(e *Engine) {
	taken := make([]int, f.Nodes)
	for i := range f.Servers {
		s := &f.Servers[i]
		u := f.unit(s.Role)
		slot := taken[s.Nodes[0]]
		taken[s.Nodes[0]]++
		if s.Port = serverPort + slot*portStep; len(f.Servers) == 1 {
			s.Port = entryPort
		}
		if split(u) {
			s.Bootstrap, s.Side = bootstrapPort+slot, sidePort+slot*portStep
		}
		s.Command, s.Later = strings.Fields(e.prefix(u)), nil
		for k := range s.Command {
			s.Command[k] = unquote(s.Command[k])
		}
		for _, a := range e.args {
			if a.when(u) {
				s.Command = append(s.Command, words(a, u)...)
			}
		}
		for _, a := range e.later {
			if a.when(u) {
				s.Later = append(s.Later, words(a, u)...)
			}
		}
		s.Config = e.yaml(u)
		s.Variables = map[string]string{}
		for _, a := range e.variables {
			if a.when(u) {
				s.Variables[a.option] = unquote(a.value(u))
			}
		}
		if s.Devices != nil {
			s.Variables[f.visible(u)] = s.devices()
		}
	}
}

// visible is the variable that assigns processors to a server.
func (f *Fleet) visible(u unit) string {
	for i := range u.Pools {
		if sys := u.Pools[i].System; u.Pools[i].Role == u.Role && sys != nil && devices[sys.Maker] != "" {
			return devices[sys.Maker]
		}
	}
	return "CUDA_VISIBLE_DEVICES"
}

func (s *Server) devices() string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(s.Devices), "[]")), ",")
}

func (f *Fleet) unit(role string) unit {
	return f.programs[slices.IndexFunc(f.programs, func(p program) bool { return p.role == role })].unit
}

func (f *Fleet) of(role deploy.Role) []Server {
	var out []Server
	for _, s := range f.Servers {
		if s.Role == role.String() {
			out = append(out, s)
		}
	}
	return out
}

// front puts a router before several servers.
func (f *Fleet) front(e *Engine) {
	if len(f.Servers) == 1 {
		return
	}
	if f.Router = e.router(f); f.Router == nil {
		f.Port = 0
		f.Remarks = append(f.Remarks, fmt.Sprintf("%s has no router for servers of both phases: put a load balancer in front of these %d", e.Title, len(f.Servers)))
	}
}

// address of a server, with that of its first node as a variable.
func (s *Server) address() string { return fmt.Sprintf("${node[%d]}:%d", s.Nodes[0], s.Port) }

// Filled is the fleet with its variables replaced, except those that differ between nodes.
func (f *Fleet) Filled() *Fleet {
	out := *f
	out.Servers = slices.Clone(f.Servers)
	for i := range out.Servers {
		s := &out.Servers[i]
		fill := strings.NewReplacer("$BOOTSTRAP_PORT", strconv.Itoa(s.Bootstrap), "$SIDE_PORT", strconv.Itoa(s.Side), "$PORT", strconv.Itoa(s.Port), "$MODEL", cmp.Or(f.Model, "$MODEL"))
		s.Command = slices.Clone(s.Command)
		for k := range s.Command {
			s.Command[k] = fill.Replace(s.Command[k])
		}
		s.Variables = maps.Clone(s.Variables)
		for name, value := range s.Variables {
			s.Variables[name] = fill.Replace(value)
		}
	}
	return &out
}

// words of an option with its value, as a program gets them.
func words(a arg, u unit) []string {
	var out []string
	if a.option != "" {
		out = append(out, a.option)
	}
	if a.value != nil {
		out = append(out, unquote(a.value(u)))
	}
	return out
}

// unquote removes the quotes that protect a word from the shell.
func unquote(s string) string {
	switch {
	case strings.HasPrefix(s, "'"):
		return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'"), `'\''`, "'")
	case strings.HasPrefix(s, `"`):
		return strings.Trim(s, `"`)
	}
	return s
}
