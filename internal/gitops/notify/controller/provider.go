// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/runtime/secrets"
	"github.com/google/cel-go/cel"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// errNobody is a delivery without a receiver.
var errNobody = errors.New("the provider was deleted or suspended")

const (
	// maxTimeout limits a provider's timeout: an unresponsive service delays others.
	maxTimeout = 2 * time.Minute
	// maxSecret limits each value of a Secret, maxHeaders the headers in it.
	maxSecret  = 64 << 10
	maxHeaders = 100
	// maxExpr limits an expression, exprTime its evaluation.
	maxExpr  = 16 << 10
	exprTime = time.Second
)

// later is a problem that can be fixed while the delivery waits.
func later(format string, args ...any) error {
	return &send.Error{Message: fmt.Sprintf(format, args...), Again: true}
}

// target returns the current target of a delivery.
func (d *Dispatcher) target(ctx context.Context, one *delivery) (send.Target, error) {
	if one.Provider == eventsQueue {
		if d.EventsAddr == "" {
			return send.Target{}, errNobody
		}
		return send.Dispatcher(d.EventsAddr, eventsTimeout), nil
	}
	if d.Client == nil {
		return send.Target{}, errNobody
	}
	var provider notificationv1beta3.Provider
	if err := d.Client.Get(ctx, one.Provider, &provider); apierrors.IsNotFound(err) {
		return send.Target{}, errNobody
	} else if err != nil {
		return send.Target{}, later("read the Provider: %v", err)
	}
	if provider.Spec.Suspend || !send.Supported(provider.Spec.Type) {
		return send.Target{}, errNobody
	}
	return d.read(ctx, &provider)
}

// read combines a provider's object and its Secrets.
func (d *Dispatcher) read(ctx context.Context, provider *notificationv1beta3.Provider) (send.Target, error) {
	spec := &provider.Spec
	t := send.Target{Type: spec.Type, Address: send.Secret(spec.Address), Channel: spec.Channel, Username: spec.Username,
		Timeout: min(provider.GetTimeout(), maxTimeout)}
	proxy := spec.Proxy
	var own *corev1.Secret
	if spec.SecretRef != nil {
		var err error
		if own, err = d.secret(ctx, provider, "secretRef", spec.SecretRef.Name); err != nil {
			return t, err
		}
		override(&t, own.Data)
		if value, ok := own.Data["proxy"]; ok {
			proxy = strings.TrimSpace(string(value))
		}
		if t.Headers, err = readHeaders(own.Data["headers"]); err != nil {
			return t, err
		}
	}
	if spec.ProxySecretRef != nil {
		secret, err := d.secret(ctx, provider, "proxySecretRef", spec.ProxySecretRef.Name)
		if err != nil {
			return t, err
		}
		u, err := secrets.ProxyURLFromSecret(ctx, secret)
		if err != nil { // the error may contain the address with a password
			return t, later("spec.proxySecretRef: the Secret needs an address with http://, https:// or socks5://, and username and password as separate keys")
		}
		proxy = u.String()
	}
	if t.Address == "" {
		return t, later("the Provider has no address: set spec.address, or the key address of the Secret in spec.secretRef")
	}
	var err error
	if t.Proxy, err = parseProxy(proxy); err != nil {
		return t, err
	}
	certs := own
	if spec.CertSecretRef != nil {
		if certs, err = d.secret(ctx, provider, "certSecretRef", spec.CertSecretRef.Name); err != nil {
			return t, err
		}
	} else if own != nil && (len(own.Data["ca.crt"]) == 0 || !send.KeepsStatuses(spec.Type)) {
		certs = nil
	}
	return t, readCertificates(ctx, &t, certs)
}

// override sets the fields that are in the Secret.
func override(t *send.Target, data map[string][]byte) {
	if value, ok := data["address"]; ok {
		t.Address = send.Secret(strings.TrimSpace(string(value)))
	}
	if value, ok := data["token"]; ok {
		t.Token = send.Secret(strings.TrimSpace(string(value)))
	}
	if value, ok := data["username"]; ok {
		t.Username = string(value)
	}
}

// secret reads one of a provider's Secrets, in its namespace.
func (d *Dispatcher) secret(ctx context.Context, provider *notificationv1beta3.Provider, field, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := d.Client.Get(ctx, types.NamespacedName{Namespace: provider.Namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, later("spec.%s: there is no Secret %s/%s", field, provider.Namespace, name)
	}
	if err != nil {
		return nil, later("spec.%s: read the Secret %s/%s: %v", field, provider.Namespace, name, err)
	}
	for key, value := range secret.Data {
		if len(value) > maxSecret {
			return nil, later("spec.%s: the key %s of the Secret %s/%s has more than %d bytes", field, key, provider.Namespace, name, maxSecret)
		}
	}
	return &secret, nil
}

func readHeaders(text []byte) (map[string]string, error) {
	var headers map[string]string
	if err := yaml.Unmarshal(text, &headers); err != nil {
		return nil, later("spec.secretRef: the key headers is not a YAML map of strings")
	}
	if len(headers) > maxHeaders {
		return nil, later("spec.secretRef: the key headers names more than %d headers", maxHeaders)
	}
	return headers, nil
}

// parseProxy parses a proxy's address. Errors do not contain it: it may contain a password.
func parseProxy(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return nil, later("the proxy's address must be a URL with http://, https:// or socks5://")
	}
	return u, nil
}

func readCertificates(ctx context.Context, t *send.Target, secret *corev1.Secret) error {
	if secret == nil {
		return nil
	}
	config, err := secrets.TLSConfigFromSecret(ctx, secret)
	if err != nil {
		return later("the certificates of the Secret %s/%s cannot be used: %v", secret.Namespace, secret.Name, err)
	}
	t.Roots = config.RootCAs
	if len(config.Certificates) > 0 {
		t.Certificate = &config.Certificates[0]
	}
	return nil
}

// commitStatus names an event's commit status: by the provider's expression, or kind, name and the
// beginning of the provider's UID, which distinguishes servers.
func commitStatus(ctx context.Context, provider *notificationv1beta3.Provider, alert *notificationv1beta3.Alert, e eventv1.Event) (string, error) {
	if provider.Spec.CommitStatusExpr == "" {
		uid, _, _ := strings.Cut(string(provider.UID), "-")
		return strings.ToLower(e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name + "/" + uid), nil
	}
	compiled, err := statusExpression(provider.Spec.CommitStatusExpr)
	if err != nil {
		return "", err
	}
	values := map[string]any{}
	for name, object := range map[string]any{"event": &e, "alert": alert, "provider": provider} {
		if values[name], err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
			return "", fmt.Errorf("convert the %s for spec.commitStatusExpr: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, exprTime)
	defer cancel()
	name, err := compiled.Text(ctx, values)
	if err != nil {
		return "", fmt.Errorf("spec.commitStatusExpr of the Provider: %w", err)
	}
	if name == "" {
		return "", errors.New("spec.commitStatusExpr of the Provider returns an empty string")
	}
	return name, nil
}

func statusExpression(text string) (*expression.Expression, error) {
	if len(text) > maxExpr {
		return nil, fmt.Errorf("spec.commitStatusExpr has %d bytes: at most %d are allowed", len(text), maxExpr)
	}
	e, err := expression.New(text, cel.StringType, "event", "alert", "provider")
	if err != nil {
		return nil, fmt.Errorf("spec.commitStatusExpr: %w", err)
	}
	return e, nil
}
