// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

const (
	// manifests is how many objects the Kustomization has.
	manifests = 1000
	// manifestTrials is how often they are applied: each time takes seconds.
	manifestTrials = 5
	// unchangedInterval and unchangedPasses are how often, and for how many passes, an unchanged Kustomization is looked at.
	unchangedInterval = 200 * time.Millisecond
	unchangedPasses   = 50
)

// manifested compares a Kustomization with kubectl.
type manifested struct {
	*bench
	yuba   *yuba
	client client.WithWatch
	// raw asks for what is no object.
	raw  rest.Interface
	tree string
}

// measureKustomization compares a Kustomization of many objects with kustomize build and kubectl apply, and counts what an
// unchanged one asks of the API.
func (b *bench) measureKustomization(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("kustomization"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	m := &manifested{bench: b, yuba: y, tree: b.directory("manifests")}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	c := &comparison{}
	for trial := range manifestTrials {
		// Who comes first takes turns, too: the API is warmer for the second.
		first, second := m.byKubectl, m.byKustomization
		if trial%2 == 1 {
			first, second = second, first
		}
		if err := errors.Join(first(ctx, c), second(ctx, c)); err != nil {
			return err
		}
	}
	b.results = append(b.results, c.result("kustomization-1000", fmt.Sprintf("Kustomization of %d objects / kustomize build, apply --server-side", manifests)))
	return m.measureQuiet(ctx)
}

func (m *manifested) prepare(ctx context.Context) error {
	var err error
	if m.client, err = kubetest.Client(m.yuba.kubeconfig()); err != nil {
		return err
	}
	if m.raw, err = newRaw(m.yuba.kubeconfig()); err != nil {
		return err
	}
	if err := m.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := writeManifests(m.tree); err != nil {
		return err
	}
	_, err = m.run(ctx, nil, "push", m.tree, "manifests", "-n", namespace)
	return err
}

// writeManifests writes objects as people do: some to a file, and a list of the files.
func writeManifests(tree string) error {
	if err := os.MkdirAll(tree, 0o700); err != nil {
		return err
	}
	const perFile = 20
	list := "namespace: " + namespace + "\nresources:\n"
	for file := range manifests / perFile {
		var content strings.Builder
		for i := range perFile {
			fmt.Fprintf(&content, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: object-%04d\n  labels: {app: bench}\ndata:\n", file*perFile+i)
			for line := range 10 {
				fmt.Fprintf(&content, "  key-%d: a value of some length, as settings have it\n", line)
			}
			content.WriteString("---\n")
		}
		name := fmt.Sprintf("objects-%03d.yaml", file)
		if err := os.WriteFile(filepath.Join(tree, name), []byte(content.String()), 0o600); err != nil {
			return err
		}
		list += "- " + name + "\n"
	}
	return os.WriteFile(filepath.Join(tree, "kustomization.yaml"), []byte(list), 0o600)
}

// run runs one of Yuba's commands and returns what it prints and takes.
func (m *manifested) run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	out, _, err := m.timed(ctx, in, args...)
	return out, err
}

func (m *manifested) timed(ctx context.Context, in []byte, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(ctx, m.programs.yuba, args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + m.scratch, "KUBECONFIG=" + m.yuba.kubeconfig()}
	cmd.Stdin = bytes.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("yuba %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// byKubectl builds and applies as a person does, and cleans up.
func (m *manifested) byKubectl(ctx context.Context, c *comparison) error {
	before, err := m.yuba.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	built, buildCPU, err := m.timed(ctx, nil, "kubectl", "kustomize", m.tree)
	if err != nil {
		return err
	}
	_, applyCPU, err := m.timed(ctx, built, "kubectl", "apply", "--server-side", "-f", "-")
	if err != nil {
		return err
	}
	c.byHand = append(c.byHand, time.Since(began))
	after, err := m.yuba.cpu()
	c.byHandCPU += after - before + buildCPU + applyCPU
	return errors.Join(err, m.client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.MatchingLabels{"app": "bench"}))
}

// byKustomization makes a Kustomization, waits until it is ready, and removes it.
func (m *manifested) byKustomization(ctx context.Context, c *comparison) error {
	before, err := m.yuba.cpu()
	if err != nil {
		return err
	}
	took, err := m.create(ctx, time.Hour)
	if err != nil {
		return err
	}
	after, err := m.yuba.cpu()
	c.yuba, c.yubaCPU = append(c.yuba, took), c.yubaCPU+after-before
	return errors.Join(err, m.remove(ctx))
}

func (m *manifested) create(ctx context.Context, interval time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	w, err := m.client.Watch(ctx, &kustomizev1.KustomizationList{}, client.InNamespace(namespace))
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	began := time.Now()
	err = m.client.Create(ctx, &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bench"},
		Spec: kustomizev1.KustomizationSpec{Interval: metav1.Duration{Duration: interval}, Prune: true,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "manifests"}}})
	if err != nil {
		return 0, err
	}
	for event := range w.ResultChan() {
		k, ok := event.Object.(*kustomizev1.Kustomization)
		if ok && event.Type != watch.Deleted && apimeta.IsStatusConditionTrue(k.Status.Conditions, "Ready") {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("the Kustomization is not ready: %w", ctx.Err())
}

func (m *manifested) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bench"}}
	if err := m.client.Delete(ctx, k); err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(k), k); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// measureQuiet counts the requests about the objects, and about Kustomizations, while an unchanged one is looked at.
func (m *manifested) measureQuiet(ctx context.Context) error {
	if _, err := m.create(ctx, unchangedInterval); err != nil {
		return err
	}
	// What the watches make of the last writes is over after some passes.
	if err := pause(ctx, 10*unchangedInterval); err != nil {
		return err
	}
	before, err := m.requests(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, unchangedPasses*unchangedInterval); err != nil {
		return err
	}
	after, err := m.requests(ctx)
	if err != nil {
		return err
	}
	m.results = append(m.results, result{Name: "kustomization-quiet", Unit: "requests", Value: after - before, Trials: unchangedPasses,
		What: fmt.Sprintf("requests of %d passes over an unchanged Kustomization of %d objects", unchangedPasses, manifests)})
	return nil
}

// counted are the requests that count: about what the Kustomization has to do with. Watches that are taken up again count not.
var counted = regexp.MustCompile(`(?m)^apiserver_request_total\{[^}]*resource="(?:configmaps|kustomizations|externalartifacts|serviceaccounts|secrets)"[^}]*\} (\S+)$`)

func (m *manifested) requests(ctx context.Context) (float64, error) {
	text, err := m.raw.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the API's metrics: %w", err)
	}
	sum := 0.0
	for _, match := range counted.FindAllSubmatch(text, -1) {
		if bytes.Contains(match[0], []byte(`verb="WATCH"`)) {
			continue
		}
		n, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return 0, fmt.Errorf("read the API's metrics: %w", err)
		}
		sum += n
	}
	return sum, nil
}
