// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// given reads what the stacks of a platform cannot read by themselves.
func (r *Reconciler) given(ctx context.Context, p *yubav1.Platform, stacks []infrav1.Terraform) (plan.Given, error) {
	given := plan.Given{Machines: map[string]plan.Machines{}, CallHome: r.CallHome}
	var err error
	if given.Kubeconfigs, err = r.kubeconfigs(ctx, p); err != nil {
		return given, err
	}
	for i := range stacks {
		t := &stacks[i]
		if t.Labels[yubav1.LabelPlatformPhase] != string(yubav1.PhaseMachines) || t.Status.OutputsSecret == "" {
			continue
		}
		var secret corev1.Secret
		err := r.Direct.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: t.Status.OutputsSecret}, &secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return given, fmt.Errorf("read the outputs of the stack %s: %w", t.Name, err)
		}
		// What the module declares as sensitive is not for statuses.
		open, ok := inputs.OpenOutputsOf(&secret)
		var machines plan.Machines
		if !ok || !slices.Contains(open.Open, string(yubav1.PhaseMachines)) || json.Unmarshal(secret.Data[string(yubav1.PhaseMachines)], &machines) != nil {
			continue
		}
		given.Machines[t.Labels[yubav1.LabelPlatformRegion]] = machines
	}
	return given, nil
}

// kubeconfigs are the regions whose kubeconfig is here, if this server takes none from nodes: a platform brings those that it
// has from its former home.
func (r *Reconciler) kubeconfigs(ctx context.Context, p *yubav1.Platform) (map[string]bool, error) {
	if r.CallHome != nil {
		return nil, nil
	}
	arrived := map[string]bool{}
	for _, region := range p.Spec.Regions {
		key := client.ObjectKey{Namespace: p.Namespace, Name: plan.SecretName(p.Name, region.Name, plan.KubeconfigSecret)}
		var there metav1.PartialObjectMetadata
		there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := r.Client.Get(ctx, key, &there)
		if apierrors.IsNotFound(err) {
			continue
		}
		var secret corev1.Secret
		if err == nil {
			err = r.Direct.Get(ctx, key, &secret)
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the Secret %s: %w", key, err)
		}
		arrived[region.Name] = len(secret.Data[kubeconfigKey]) > 0
	}
	return arrived, nil
}

// kubeconfigKey is the key of a kubeconfig that has arrived.
const kubeconfigKey = "value"

// joinKey is the key of the token by which machines join a cluster.
const joinKey = "join_token"

// prepare makes the Secrets of a region that its stacks read. Those of a platform that another home has are not touched:
// "yuba move" copies them.
func (r *Reconciler) prepare(ctx context.Context, p *yubav1.Platform, region string, here func() error) error {
	name := plan.SecretName(p.Name, region, plan.TokenSecret)
	var there metav1.PartialObjectMetadata
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, &there)
	if apierrors.IsNotFound(err) {
		if err := here(); err != nil {
			return err
		}
		token := make([]byte, 32)
		if _, err := rand.Read(token); err != nil {
			return fmt.Errorf("make a token for the machines of %s: %w", region, err)
		}
		err = r.Direct.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: map[string]string{yubav1.LabelPlatform: p.Name, yubav1.LabelPlatformRegion: region}},
			Data:       map[string][]byte{joinKey: []byte(hex.EncodeToString(token))},
		}, fieldOwner)
		if apierrors.IsAlreadyExists(err) {
			err = nil // the cache is behind
		}
	}
	if err != nil {
		return fmt.Errorf("make the Secret %s: %w", name, err)
	}
	if r.Prepare == nil {
		return nil
	}
	if err := here(); err != nil {
		return err
	}
	return r.Prepare(ctx, p, region)
}

// record writes a decision into the status.
func record(p *yubav1.Platform, d decide.Decision, given plan.Given, now time.Time) {
	s := &p.Status
	s.Phases, s.Remaining, s.Progress = d.Phases, d.Remaining, d.Progress
	s.Endpoints = nil
	for _, region := range p.Spec.Regions {
		if m, ok := given.Machines[region.Name]; ok && !p.Spec.Decommission {
			if m.APIEndpoint != "" {
				s.Endpoints = append(s.Endpoints, yubav1.PlatformEndpoint{Name: "kubernetes", Region: region.Name, Address: m.APIEndpoint})
			}
			for _, address := range m.Addresses[:min(len(m.Addresses), 2)] {
				s.Endpoints = append(s.Endpoints, yubav1.PlatformEndpoint{Name: "address", Region: region.Name, Address: address})
			}
		}
	}
	status := metav1.ConditionFalse
	if d.Ready {
		status = metav1.ConditionTrue
		if s.CompletedAt == nil {
			at := metav1.NewTime(now)
			s.CompletedAt = &at
		}
	}
	conditions.Set(p, infrav1.ConditionReady, status, d.Reason, infrav1.TrimMessage(d.Message))
}
