// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
)

// RunnerPods makes runs execute in Pods.
type RunnerPods struct {
	pod.Options
	// Address is the host:port that runners connect to. Options.Server is its URL.
	Address string
	// IdleFor is how long an idle Pod stays; 0 means DefaultRunnerIdle.
	IdleFor time.Duration
}

// DefaultRunnerIdle is how long an idle runner Pod stays.
const DefaultRunnerIdle = 5 * time.Minute

// podConcurrency is the default number of runner Pods: that of tofu-controller's chart.
const podConcurrency = 24

// cachedPods limits the cache of Pods to runners.
func cachedPods() cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{pod.LabelManagedBy: pod.ManagedBy, pod.LabelName: pod.Name})}
}

// podBackend creates the backend that executes runs in Pods.
func (e *engine) podBackend(direct client.Client) *pod.Backend {
	o := e.opts.Pods
	return pod.New(&pod.Backend{Options: o.Options, Client: direct, Cache: e.manager.GetCache(), Max: e.concurrency(),
		IdleFor: cmp.Or(o.IdleFor, DefaultRunnerIdle), Log: e.opts.Log, Now: time.Now})
}

// runnerHost is the name by which runner Pods reach this server; empty if there are none.
func (o *Common) runnerHost() string {
	if o.Pods == nil {
		return ""
	}
	u, err := url.Parse(o.Pods.Server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// runnerAddress is where runner Pods connect to; empty if there are none.
func (o *Common) runnerAddress() string {
	if o.Pods == nil {
		return ""
	}
	return o.Pods.Address
}

// servePods serves the run endpoints for Pods, and creates those.
func (e *engine) servePods(ctx context.Context, cert certificate, ca []byte) error {
	o := &e.pods.Options
	o.CA = string(ca)
	key, err := os.ReadFile(filepath.Join(e.dir.Keys(), serverAuthority+".key"))
	if err != nil {
		return fmt.Errorf("read the key that signs runner Pods: %w", err)
	}
	secret := sha256.Sum256(append([]byte("yuba runner Pods "), key...))
	o.Secret = secret[:]
	if o.Build = e.podBuild(); o.Instance == "" {
		o.Instance = "yuba"
	}
	if e.endpoint, err = serveEndpoint(e.opts.Pods.Address, e.executor.Handler(), e.opts.Connections.Share(20), cert, e.opts.Log); err != nil {
		return err
	}
	go e.executor.Run(ctx) //nolint:errcheck // logs what goes wrong and goes on
	return nil
}

// podBuild marks what runner Pods of this server are made of.
func (e *engine) podBuild() string {
	o := e.pods.Options
	text, err := json.Marshal([]any{e.opts.Version, o.Image, o.Resources, o.Server, o.CA, o.Args, o.PullSecrets})
	if err != nil {
		panic(fmt.Sprintf("mark the runner Pods: %v. This is a bug in Yuba.", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// serverTool is the tool of this server: none where runs are Pods, which have their own.
func (o *Common) serverTool(ctx context.Context, dir datadir.Dir) (tool, error) {
	if o.Pods != nil {
		return tool{}, nil
	}
	return confinedTool(ctx, o, dir)
}

// ParsePullPolicy checks a pull policy of images; empty stands for the API's default.
func ParsePullPolicy(text string) (corev1.PullPolicy, error) {
	switch policy := corev1.PullPolicy(text); policy {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
		return policy, nil
	}
	return "", fmt.Errorf("%q is not a pull policy: want Always, IfNotPresent or Never", text)
}
