// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// maxAddresses limits the addresses of a claim, as the API does for those of its spec.
const maxAddresses = 16

// addresses are those that a claim leads to. Without any, waits says for what. With addresses and waits, they are the last
// ones, and the present ones are not known.
func (r *Reconciler) addresses(ctx context.Context, c *yubav1.SubdomainClaim) (all []netip.Addr, waits string, err error) {
	from := c.Spec.AddressesFrom
	if from == nil {
		if len(c.Spec.Addresses) == 0 {
			return nil, "neither spec.addresses nor spec.addressesFrom has any", nil
		}
		all, err = parse(c.Spec.Addresses)
		if err != nil {
			err = problemf(yubav1.ReasonClaimAddresses, false, "spec.addresses: %w", err)
		}
		return all, "", err
	}
	text, waits, err := r.output(ctx, c.Namespace, from)
	if err != nil {
		return nil, "", err
	}
	if waits != "" {
		if c.Status.Phase == yubav1.SubdomainCommitted { // its records are the last that were right
			all, err = parse(strings.Split(c.Status.Addresses, ","))
		}
		return all, waits, err
	}
	list := []string{text}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, "", problemf(yubav1.ReasonClaimAddresses, false, "the output %s of the stack %s is not a list of addresses", from.Output, from.Stack)
		}
	}
	all, err = parse(list)
	if err != nil {
		return nil, "", problemf(yubav1.ReasonClaimAddresses, false, "the output %s of the stack %s: %w", from.Output, from.Stack, err)
	}
	return all, "", nil
}

// output reads an output from the Secret that the stack writes. The value is not shown: outputs may be secrets.
func (r *Reconciler) output(ctx context.Context, namespace string, from *yubav1.StackOutput) (text, waits string, err error) {
	var stack infrav1.Terraform
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: from.Stack}, &stack)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Sprintf("the stack %s does not exist", from.Stack), nil
	case err != nil:
		return "", "", err
	case stack.Spec.WriteOutputsToSecret == nil:
		return "", fmt.Sprintf("the stack %s does not write its outputs: set spec.writeOutputsToSecret", from.Stack), nil
	}
	key := from.Output
	for _, o := range stack.Spec.WriteOutputsToSecret.Outputs {
		if output, as, renamed := strings.Cut(o, ":"); renamed && output == from.Output {
			key = as
		}
	}
	var secret corev1.Secret
	err = r.Direct.Get(ctx, client.ObjectKey{Namespace: namespace, Name: stack.Spec.WriteOutputsToSecret.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("the stack %s is not applied yet", from.Stack), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read the outputs of the stack %s: %w", from.Stack, err)
	}
	value, ok := secret.Data[key]
	if !ok || len(value) == 0 || string(value) == "null" {
		return "", fmt.Sprintf("the stack %s does not have the output %s", from.Stack, from.Output), nil
	}
	return string(value), "", nil
}

// parse reads addresses. Those that lead nowhere for anybody are refused.
func parse(texts []string) (all []netip.Addr, err error) {
	if len(texts) == 0 || len(texts) > maxAddresses {
		return nil, fmt.Errorf("there are %d addresses: 1 to %d are allowed", len(texts), maxAddresses)
	}
	for _, text := range texts {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		switch {
		case err != nil:
			return nil, fmt.Errorf("a value is not an IP address, such as 192.0.2.1 or 2001:db8::1")
		case a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast():
			return nil, fmt.Errorf("%s is not the address of a server", a)
		}
		all = append(all, a.Unmap())
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all), nil
}
