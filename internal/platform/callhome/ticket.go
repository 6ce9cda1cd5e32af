// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Label marks tickets.
	Label = "yuba.dev/call-home"
	// KubeconfigKey is the ticket's key of the kubeconfig. Targets, Kustomizations and releases read the same key.
	KubeconfigKey = "value"
	// ArrivedAnnotation has the time at which the kubeconfig arrived.
	ArrivedAnnotation = "yuba.dev/call-home-arrived"

	hashKey    = "token-sha256"
	expiresKey = "expires"
)

// MaxLifetime limits how long a token is valid. A node calls home minutes after it was made.
const MaxLifetime = 24 * time.Hour

// Grant is what Yuba keeps of a token.
type Grant struct {
	// Hash is the SHA-256 of the token in hexadecimal digits.
	Hash    string
	Expires time.Time
}

// New makes a token that is valid for a lifetime from now.
func New(now time.Time, lifetime time.Duration) (token string, g Grant, err error) {
	if lifetime <= 0 || lifetime > MaxLifetime {
		return "", Grant{}, fmt.Errorf("make a token for the call home: the lifetime %s is not between 0 and %s", lifetime, MaxLifetime)
	}
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return "", Grant{}, fmt.Errorf("make a token for the call home: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(random)
	return token, Grant{Hash: hashOf(token), Expires: now.Add(lifetime).UTC().Truncate(time.Second)}, nil
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// accepts reports whether the token is that of the grant.
func (g Grant) accepts(token string) bool {
	return subtle.ConstantTimeCompare([]byte(hashOf(token)), []byte(g.Hash)) == 1
}

// Secret returns the ticket of a grant. To renew an expired one, update the Secret that exists with [Renew].
func Secret(namespace, name string, g Grant) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{Label: "true"}},
		Type:       corev1.SecretTypeOpaque,
	}
	Renew(s, g)
	return s
}

// Renew gives a ticket another grant. A kubeconfig that has arrived stays until the next one replaces it.
func Renew(s *corev1.Secret, g Grant) {
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[hashKey] = []byte(g.Hash)
	s.Data[expiresKey] = []byte(g.Expires.Format(time.RFC3339))
}

// State is the state of a ticket.
type State string

// The states of a ticket.
const (
	// Waiting: the node has not called, and may.
	Waiting State = "Waiting"
	// Arrived: the ticket has a kubeconfig.
	Arrived State = "Arrived"
	// Expired: the node has not called in time. Renew the ticket and replace the node.
	Expired State = "Expired"
)

// StateOf returns the state of a ticket. A damaged ticket is Expired: nothing can arrive.
func StateOf(s *corev1.Secret, now time.Time) State {
	g, err := grantOf(s)
	switch {
	case err == nil && now.Before(g.Expires):
		return Waiting
	case len(s.Data[KubeconfigKey]) > 0:
		return Arrived
	}
	return Expired
}

var errNoGrant = errors.New("the ticket has no grant")

// grantOf reads the grant of a ticket.
func grantOf(s *corev1.Secret) (Grant, error) {
	hash := string(s.Data[hashKey])
	if s.Labels[Label] == "" || len(hash) != hex.EncodedLen(sha256.Size) {
		return Grant{}, errNoGrant
	}
	expires, err := time.Parse(time.RFC3339, string(s.Data[expiresKey]))
	if err != nil {
		return Grant{}, fmt.Errorf("read when the token of %s/%s expires: %w", s.Namespace, s.Name, err)
	}
	return Grant{Hash: hash, Expires: expires}, nil
}

// Path is the path below which [Handler] answers.
const Path = "/call-home/"

// URL is where a node puts the kubeconfig of a ticket. The base is the server's, without a path.
func URL(base, namespace, name string) string {
	return strings.TrimSuffix(base, "/") + Path + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}
