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
	// manifests is the number of objects in the Kustomization.
	manifests = 1000
	// manifestTrials is the number of trials, each of which takes seconds.
	manifestTrials = 5
	// unchangedInterval is the interval of an unchanged Kustomization, unchangedPasses the number
	// of its reconciliations.
	unchangedInterval = 200 * time.Millisecond
	unchangedPasses   = 50
)

// manifested compares a Kustomization with kubectl.
type manifested struct {
	*bench
	yuba   *yuba
	client client.WithWatch
	// raw reads paths of the API that are not objects.
	raw  rest.Interface
	tree string
}

// measureKustomization compares a Kustomization of many objects with kustomize build and kubectl
// apply, and counts the requests of an unchanged one to the API.
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
		// The order alternates, too: the API is warmer for the second.
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

// writeManifests writes several objects to each file, as people do, and a list of the files.
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

// run runs a yuba command and returns its output.
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

// byKustomization creates a Kustomization, waits until it is ready, and deletes it.
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
	return 0, fmt.Errorf("wait for the Kustomization to be ready: %w", ctx.Err())
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

// measureQuiet counts the requests about Kustomizations and their objects during reconciliations of
// an unchanged Kustomization.
func (m *manifested) measureQuiet(ctx context.Context) error {
	if _, err := m.create(ctx, unchangedInterval); err != nil {
		return err
	}
	// The watches have processed the last writes after some reconciliations.
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
		What: fmt.Sprintf("requests in %d reconciliations of an unchanged Kustomization of %d objects", unchangedPasses, manifests)})
	return nil
}

// counted matches the counted requests: those about resources that the Kustomization uses. Resumed
// watches do not count.
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
