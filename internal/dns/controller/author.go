// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// indexHost finds the records of a host that are published by external-dns.
const indexHost = "yuba.failoverrecords.host"

// mayPublish checks that the service account of a record may write its DNSEndpoint: who may write FailoverRecords alone
// does not get to publish with Yuba's rights.
func (r *Reconciler) mayPublish(ctx context.Context, f *yubav1.FailoverRecord) error {
	account := cmp.Or(f.Spec.Publish.DNSEndpoint.ServiceAccountName, "default")
	user := "system:serviceaccount:" + f.Namespace + ":" + account
	for _, verb := range []string{"create", "update"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   user,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + f.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: f.Namespace, Name: f.Name, Verb: verb,
				Group: endpointKind.Group, Version: endpointKind.Version, Resource: "dnsendpoints"},
		}}
		if err := r.Client.Create(ctx, review); err != nil {
			return fmt.Errorf("check whether %s may publish the DNSEndpoint %s: %w", user, f.Name, err)
		}
		if !review.Status.Allowed {
			return problemf(yubav1.ReasonRecordForbidden, "the service account %[1]s/%[2]s may not %[3]s the DNSEndpoint %[4]s. To allow it:\n"+
				"    kubectl create role publish-dns -n %[1]s --verb=create,update --resource=dnsendpoints.%[5]s\n"+
				"    kubectl create rolebinding publish-dns-%[2]s -n %[1]s --role=publish-dns --serviceaccount=%[1]s:%[2]s",
				f.Namespace, account, verb, f.Name, endpointKind.Group)
		}
	}
	return nil
}

// publishedByOther refuses a host whose DNSEndpoint another record keeps. A record that was refused itself blocks nobody.
// The caller holds the lock of the host.
func (r *Reconciler) publishedByOther(ctx context.Context, f *yubav1.FailoverRecord) error {
	var all yubav1.FailoverRecordList
	if err := r.Client.List(ctx, &all, client.MatchingFields{indexHost: f.Spec.Host}); err != nil {
		return fmt.Errorf("look for other FailoverRecords of %s: %w", f.Spec.Host, err)
	}
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == f.UID {
			continue
		}
		theirs, err := r.endpoint(ctx, other)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("look whether another FailoverRecord publishes %s: %w", f.Spec.Host, err)
		}
		if err == nil && metav1.IsControlledBy(theirs, other) {
			return problemf(yubav1.ReasonRecordOwned, "another FailoverRecord publishes %s: %s/%s. Use another name, or delete that one", f.Spec.Host, other.Namespace, other.Name)
		}
	}
	return nil
}
