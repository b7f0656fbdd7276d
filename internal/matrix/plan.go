package matrix

import (
	"bytes"
	"fmt"
	"strconv"

	"throughline/internal/advice"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/workload"
)

// requestsPerClient of a planned row: enough to be steady for most of the time.
const requestsPerClient = 8

// backends maps engines to the interface names of bench.
var backends = map[string]string{"sglang": "sglang-oai", "vllm": "vllm", "trtllm": "openai"}

// OfPlan is a file that measures the ranked rows of a plan, each under the load that it was planned
// for, and why rows are left out: those that no script on one node launches behind one address.
func OfPlan(p *advice.Plans) (f *File, leftOut []string, err error) {
	var doc bytes.Buffer
	if err := report.WriteObject(&doc, report.AdviceJSON(p)); err != nil {
		return nil, nil, err
	}
	words, err := question.PlannedWords(files.Machine, doc.Bytes())
	if err != nil {
		return nil, nil, err
	}
	f = &File{}
	for i := range p.Ranked {
		c := &p.Ranked[i]
		e := c.Engine()
		if e == nil {
			continue
		}
		fleet, err := e.Fleet(&c.Deployment)
		switch {
		case err != nil:
			return nil, nil, err
		case fleet.Nodes > 1:
			leftOut = append(leftOut, fmt.Sprintf("row %d is left out: its script runs on each of %d nodes", i+1, fleet.Nodes))
			continue
		case fleet.Port == 0:
			leftOut = append(leftOut, fmt.Sprintf("row %d is left out: %s has no router for its servers, put a load balancer in front of them", i+1, e.Title))
			continue
		}
		var script bytes.Buffer
		if err := report.LaunchScript(&script, p.Loaded, c, e); err != nil {
			return nil, nil, err
		}
		name, url := fmt.Sprintf("row%d", i+1), fmt.Sprintf("http://127.0.0.1:%d", fleet.Port)
		f.Servers = append(f.Servers, plannedServer(name, url, script.String(), words[i]))
		f.Clients = append(f.Clients, plannedClient(name, backends[e.Name], c.Load))
	}
	return f, leftOut, nil
}

func plannedServer(name, url, script string, deployment map[string]string) Server {
	s := Server{Name: name, Command: Command{Words: []string{"bash", "-c", script}}, URL: url, Deployment: map[string]Word{}}
	s.SetDefaults()
	s.Ready.URL = url + "/health" // which SGLang, vLLM and TensorRT-LLM have
	for setting, text := range deployment {
		s.Deployment[setting] = Word(text)
	}
	return s
}

func plannedClient(server, backend string, load workload.Load) Client {
	c := Client{Name: fmt.Sprintf("%s_c%d", server, load.Clients), Servers: []string{server}, Bench: map[string]Word{
		"backend": Word(backend), "random-input-len": wordOf(load.Lengths.Input), "random-output-len": wordOf(load.Lengths.Output),
		"max-concurrency": wordOf(load.Clients), "num-prompts": wordOf(requestsPerClient * load.Clients),
	}}
	c.SetDefaults()
	return c
}

func wordOf(n int) Word { return Word(strconv.Itoa(n)) }
