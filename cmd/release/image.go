package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Types of the parts of an image (specification of the Open Container Initiative, 1.1).
const (
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

// descriptor points to a part of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// layout is an image as a folder of parts, each named by its digest.
type layout struct{ files []entry }

func (l *layout) add(kind string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, entry{path.Join("blobs/sha256", sum), 0o644, data})
	return descriptor{MediaType: kind, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) addJSON(kind string, v any) (descriptor, error) {
	b, err := json.Marshal(v)
	return l.add(kind, b), err
}

// image is an archive that docker load, podman load and skopeo read: the program, whom it trusts on
// the network, and its terms, for each processor of Linux.
func (s source) image(built map[target][]byte) ([]byte, error) {
	var l layout
	var manifests []descriptor
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		m, err := l.platform(s, t, built[t])
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, m)
	}
	all, err := l.addJSON(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": s.number, "io.containerd.image.name": "docker.io/library/throughline:" + s.number}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{all}})
	if err != nil {
		return nil, err
	}
	l.files = append(l.files, entry{"index.json", 0o644, top}, entry{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	var b bytes.Buffer
	err = tarred(&b, l.files, s.when)
	return b.Bytes(), err
}

// platform adds the image of a processor.
func (l *layout) platform(s source, t target, program []byte) (descriptor, error) {
	files := []entry{{"throughline", 0o755, program}, {"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()}}
	for _, name := range []string{"LICENSE", "THIRD_PARTY_NOTICES"} {
		src, err := os.ReadFile(name)
		if err != nil {
			return descriptor{}, err
		}
		files = append(files, entry{name, 0o644, src})
	}
	var plain bytes.Buffer
	if err := tarred(&plain, files, s.when); err != nil {
		return descriptor{}, err
	}
	packed, err := gzipped(plain.Bytes())
	if err != nil {
		return descriptor{}, err
	}
	created := s.when.Format(time.RFC3339)
	config, err := l.addJSON(typeConfig, map[string]any{
		"created": created, "architecture": t.arch, "os": t.os,
		// User 65534 is nobody: the program needs no right but that of its user.
		"config": map[string]any{"User": "65534", "Entrypoint": []string{"/throughline"}, "Labels": map[string]string{
			"org.opencontainers.image.version": s.number, "org.opencontainers.image.revision": s.revision, "org.opencontainers.image.licenses": "Apache-2.0",
		}},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))}},
		"history": []map[string]any{{"created": created, "created_by": "make release"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	layers := []descriptor{l.add(typeLayer, packed)}
	m, err := l.addJSON(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": layers})
	m.Platform = &platform{t.arch, t.os}
	return m, err
}

// authorities are those that browsers trust, of the version of the module that lists them.
func authorities() []byte {
	var b bytes.Buffer
	for r := range bundle.Roots() {
		if r.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate})
		}
	}
	return b.Bytes()
}
