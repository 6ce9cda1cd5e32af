// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Timeout bounds a request.
const Timeout = 15 * time.Second

// The keys of a Secret.
const (
	keyAPIKey = "api-key"
	keyCA     = "ca.crt"
)

// InvalidError means that the object or its Secret must change.
type InvalidError struct{ text string }

func (e *InvalidError) Error() string { return e.text }

func invalidf(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// To returns a client of a server, and where the server answers DNS queries unless an object says otherwise. The field is
// the place of the server in the object, for errors.
func To(ctx context.Context, secrets client.Reader, namespace, field, address, named string) (c *powerdns.Client, nameserver string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, "", invalidf("%s.url is not a URL such as https://dns.example.org:8081", field)
	}
	var secret corev1.Secret
	err = secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: named}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, "", invalidf("the Secret %s of %s.secretRef does not exist", named, field)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the Secret %s: %w", named, err)
	}
	key := strings.TrimSpace(string(secret.Data[keyAPIKey]))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, "", invalidf("the Secret %s does not have the server's API key under %s", named, keyAPIKey)
	}
	options := outbound.Options{Timeout: Timeout}
	if ca := secret.Data[keyCA]; len(ca) > 0 {
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(ca) {
			return nil, "", invalidf("%s of the Secret %s has no certificate in PEM format", keyCA, named)
		}
	}
	return &powerdns.Client{URL: address, Key: key, HTTP: outbound.Client(options)}, net.JoinHostPort(u.Hostname(), "53"), nil
}
