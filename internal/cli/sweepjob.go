package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"throughline/internal/shell"
)

// sweepJob runs a scan on the workers of a cluster, which share the folder or bucket of the
// results.
type sweepJob struct {
	File    string // of the scan
	Source  []byte // what the file says
	Results string // folder, or s3://bucket/prefix
	Workers int
	Image   string // of containers
	Claim   string // volume with the folder of the results, as containers see it
}

// schedulers write the job for those that take one.
var schedulers = map[string]func(*sweepJob) (string, error){"slurm": (*sweepJob).slurm, "k8s": (*sweepJob).kubernetes}

func (j *sweepJob) inBucket() bool { return strings.HasPrefix(j.Results, "s3://") }

func (j *sweepJob) slurm() (string, error) {
	file, err := filepath.Abs(j.File)
	results := j.Results
	if !j.inBucket() {
		var wrong error
		results, wrong = filepath.Abs(results)
		err = errors.Join(err, wrong)
	}
	return fmt.Sprintf(`#!/bin/bash
#SBATCH --job-name=throughline-sweep
#SBATCH --array=0-%d
#SBATCH --requeue
#SBATCH --output=throughline-sweep-%%A_%%a.log
# A task takes its own share first and then whatever is missing: any of them may be lost.
exec throughline sweep run %s -o %s --shard auto/%d --jobs "${SLURM_CPUS_PER_TASK:-1}"
`, j.Workers-1, shell.Quote(file), shell.Quote(results), j.Workers), err
}

func (j *sweepJob) kubernetes() (string, error) {
	volume, mount := "", ""
	if !j.inBucket() {
		if !path.IsAbs(j.Results) {
			return "", fmt.Errorf("-o %s: name the folder as containers see it, like /shared/results, or s3://bucket/prefix", j.Results)
		}
		volume = fmt.Sprintf("\n      - name: results\n        persistentVolumeClaim: {claimName: %q}", cmp.Or(j.Claim, "throughline"))
		mount = fmt.Sprintf("\n        - {name: results, mountPath: %q}", j.Results)
	}
	const indent = "    "
	source := indent + strings.ReplaceAll(strings.TrimRight(string(j.Source), "\n"), "\n", "\n"+indent)
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: throughline-sweep}
data:
  scan.json: |2
%s
---
apiVersion: batch/v1
kind: Job
metadata: {name: throughline-sweep}
spec:
  completionMode: Indexed
  completions: %d
  parallelism: %d
  backoffLimitPerIndex: 5
  maxFailedIndexes: %d
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: throughline
        image: %q
        args: ["sweep", "run", "/scan/scan.json", "-o", %q, "--shard", "auto/%d", "--jobs", "1"]
        envFrom:
        - secretRef: {name: throughline-s3, optional: true}
        resources:
          requests: {cpu: "1", memory: 256Mi}
        volumeMounts:
        - {name: scan, mountPath: /scan}%s
      volumes:
      - name: scan
        configMap: {name: throughline-sweep}%s
`, source, j.Workers, j.Workers, j.Workers, j.Image, j.Results, j.Workers, mount, volume), nil
}
