// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// endpointKind is external-dns' kind.
var endpointKind = schema.GroupVersionKind{Group: "externaldns.k8s.io", Version: "v1alpha1", Kind: "DNSEndpoint"}

// errNoEndpoints means that the API does not serve the kind. It is asked again: the kind may be installed.
var errNoEndpoints = problemf(yubav1.ReasonRecordUnreachable, "this API does not have external-dns' kind DNSEndpoint (externaldns.k8s.io/v1alpha1). Install its definition, or publish by powerDNS")

// keepEndpoint keeps the DNSEndpoint of a record, which external-dns publishes.
func (r *Reconciler) keepEndpoint(ctx context.Context, f *yubav1.FailoverRecord, spec record.Spec, records []record.Record) (wrote bool, answer string, err error) {
	was := f.Status.Records
	f.Status.Warnings, f.Status.Zone, f.Status.ServerVersion, f.Status.Records = record.Warnings(spec), "", "", nil
	for _, rec := range records {
		f.Status.Records = append(f.Status.Records, rec.Content())
	}
	is, wrote, err := r.writeEndpoint(ctx, f, spec.TTL, kept(f, was))
	if err != nil {
		return false, "", err
	}
	if n := f.Spec.Publish.DNSEndpoint.Nameserver; n != "" {
		s := &server{nameserver: n}
		answered, err := s.verify(ctx, spec, records)
		if err != nil {
			return wrote, "", err
		}
		r.recordAnswer(f, spec, answered)
	} else {
		r.recordAnswer(f, spec, []netip.Addr{})
		observed, _, err := unstructured.NestedInt64(is.Object, "status", "observedGeneration")
		if err != nil || observed < is.GetGeneration() {
			return wrote, "", problemf(yubav1.ReasonRecordPending, "the DNSEndpoint %s is written, and external-dns has not observed it yet. Does it run with --source=crd and --managed-record-types=LUA?", f.Name)
		}
		f.Status.Endpoints = nil // nobody was asked
	}
	f.Status.Places = r.leave(ctx, f, yubav1.FailoverPlace{})
	return wrote, f.Status.Answer, nil
}

// writeEndpoint makes the DNSEndpoint what it should be. If an earlier pass has done so already, a difference is a repair.
func (r *Reconciler) writeEndpoint(ctx context.Context, f *yubav1.FailoverRecord, ttl int, repairs bool) (*unstructured.Unstructured, bool, error) {
	is, err := r.endpoint(ctx, f)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil {
		return nil, false, err
	}
	if exists && !metav1.IsControlledBy(is, f) {
		return nil, false, problemf(yubav1.ReasonRecordOwned, "the namespace has a DNSEndpoint %s that this object did not write. Delete it, or use another name", f.Name)
	}
	unlock := r.lock("dnsEndpoint/" + f.Spec.Host) // of two records of a host, one sees the other's
	defer unlock()
	targets := make([]any, len(f.Status.Records))
	for i, content := range f.Status.Records {
		targets[i] = content
	}
	wanted := is.DeepCopy()
	wanted.Object["spec"] = map[string]any{"endpoints": []any{map[string]any{
		"dnsName": f.Spec.Host, "recordType": "LUA", "recordTTL": int64(ttl), "targets": targets}}}
	if labels := f.Spec.Publish.DNSEndpoint.Labels; len(labels) > 0 {
		all := maps.Clone(wanted.GetLabels())
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, labels)
		wanted.SetLabels(all)
	}
	if err := controllerutil.SetControllerReference(f, wanted, r.Client.Scheme()); err != nil {
		return nil, false, err
	}
	if exists && equality.Semantic.DeepEqual(is.Object, wanted.Object) {
		return is, false, nil
	}
	if err := r.mayPublish(ctx, f); err != nil {
		return nil, false, err
	}
	if err := r.publishedByOther(ctx, f); err != nil {
		return nil, false, err
	}
	if repairs {
		return wanted, true, r.repairEndpoint(ctx, f, wanted, exists)
	}
	return wanted, true, r.applyEndpoint(ctx, f, wanted, exists)
}

// repairEndpoint writes a DNSEndpoint that somebody has changed or deleted, and says so.
func (r *Reconciler) repairEndpoint(ctx context.Context, f *yubav1.FailoverRecord, wanted *unstructured.Unstructured, exists bool) error {
	what, last := "the DNSEndpoint "+f.Name+" was missing", f.Status.LastRepair
	if exists {
		what = "the DNSEndpoint " + f.Name + " had another spec or other labels"
	}
	if err := r.noteWrite(ctx, f, f.Status.Writes, []string{what}); err != nil {
		return err
	}
	if err := r.applyEndpoint(ctx, f, wanted, exists); err != nil {
		return errors.Join(err, r.setWrites(ctx, f, f.Status.Writes, last)) // nothing is written
	}
	reconciling.Event(r.Events, f, corev1.EventTypeWarning, yubav1.ReasonRecordRepaired, "Publish", "Somebody changed the records, and Yuba wrote them again: "+what)
	return nil
}

func (r *Reconciler) applyEndpoint(ctx context.Context, f *yubav1.FailoverRecord, wanted *unstructured.Unstructured, exists bool) (err error) {
	if exists {
		err = r.Client.Update(ctx, wanted)
	} else {
		err = r.Client.Create(ctx, wanted)
	}
	switch {
	case apierrors.IsInvalid(err):
		return problemf(yubav1.ReasonRecordInvalid, "the API refuses the DNSEndpoint: %w. Newer definitions of external-dns do not allow the record type LUA: publish by powerDNS, or add LUA to recordType in the definition dnsendpoints.externaldns.k8s.io", err)
	case apierrors.IsNotFound(err) && !exists:
		return errNoEndpoints
	case err != nil:
		return fmt.Errorf("write the DNSEndpoint %s: %w", f.Name, err)
	}
	return nil
}

// endpoint reads the DNSEndpoint; without one, it is empty, and the error that of the API.
func (r *Reconciler) endpoint(ctx context.Context, f *yubav1.FailoverRecord) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(endpointKind)
	err := r.Direct.Get(ctx, client.ObjectKeyFromObject(f), o)
	o.SetGroupVersionKind(endpointKind)
	o.SetNamespace(f.Namespace)
	o.SetName(f.Name)
	if apimeta.IsNoMatchError(err) {
		return o, errNoEndpoints
	}
	return o, err
}

// dropEndpoint removes the DNSEndpoint of a record that is published otherwise. It is looked for once, and until it is gone.
func (r *Reconciler) dropEndpoint(ctx context.Context, f *yubav1.FailoverRecord) error {
	if _, done := r.dropped.Load(f.UID); done {
		return nil
	}
	is, err := r.endpoint(ctx, f)
	switch {
	case err == nil && metav1.IsControlledBy(is, f):
		uid := is.GetUID()
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, is, client.Preconditions{UID: &uid})); err != nil {
			return fmt.Errorf("delete the DNSEndpoint %s, which publishes %s otherwise: %w", f.Name, f.Spec.Host, err)
		}
	case err != nil && !errors.Is(err, errNoEndpoints) && !apierrors.IsNotFound(err):
		return fmt.Errorf("look for a DNSEndpoint %s, which would publish %s otherwise: %w", f.Name, f.Spec.Host, err)
	}
	r.dropped.Store(f.UID, true)
	return nil
}
