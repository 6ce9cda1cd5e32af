// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// bearer is a client with nothing but a token.
func bearer(t *testing.T, p *ControlPlane, token string) *kubernetes.Clientset {
	t.Helper()
	config := rest.AnonymousClientConfig(p.RESTConfig())
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// whoIs asks the API who the bearer of a token is.
func whoIs(t *testing.T, p *ControlPlane, token string) (authenticationv1.UserInfo, error) {
	t.Helper()
	review, err := bearer(t, p, token).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// accepted waits until a token is, since the API asks the issuer for its keys after it has started.
func accepted(t *testing.T, p *ControlPlane, token string) (user authenticationv1.UserInfo) {
	t.Helper()
	eventually(t, "the token is accepted", func() (err error) {
		user, err = whoIs(t, p, token)
		return err
	})
	return user
}

func TestTokensOfAnOIDCIssuer(t *testing.T) {
	i, options := newOIDCIssuer(t), testOptions(t.TempDir())
	options.AuthenticationConfig = filepath.Join(t.TempDir(), "authentication.yaml")
	i.configure(t, options.AuthenticationConfig, "yuba")
	p := startIn(t, options)
	good := sign(t, i.key, i.claims(nil))

	user := accepted(t, p, good)
	if user.Username != "oidc:ada@example.com" || !slices.Contains(user.Groups, "oidc:platform") || !slices.Contains(user.Groups, "system:authenticated") {
		t.Errorf("the user is %+v", user)
	}
	t.Run("a user may do what RBAC says", func(t *testing.T) { mayWhatRolesSay(t, p, good) })
	stranger := newRSAKey(t)
	for sentence, token := range map[string]string{
		"for another audience":      sign(t, i.key, i.claims(claims{"aud": "grafana"})),
		"for no audience":           sign(t, i.key, i.claims(claims{"aud": nil})),
		"of another issuer":         sign(t, i.key, i.claims(claims{"iss": "https://accounts.example.com"})),
		"expired":                   sign(t, i.key, i.claims(claims{"exp": time.Now().Add(-time.Hour).Unix()})),
		"without an end":            sign(t, i.key, i.claims(claims{"exp": nil})),
		"not valid yet":             sign(t, i.key, i.claims(claims{"nbf": time.Now().Add(time.Hour).Unix()})),
		"without the user's name":   sign(t, i.key, i.claims(claims{"email": nil})),
		"signed with another key":   sign(t, stranger, i.claims(nil)),
		"unsigned":                  unsigned(t, "none", i.claims(nil)),
		"without its signature":     unsigned(t, "RS256", i.claims(nil)),
		"with another's signature":  unsigned(t, "RS256", i.claims(claims{"email": "root@example.com"})) + good[strings.LastIndex(good, ".")+1:],
		"of an e-mail not verified": sign(t, i.key, i.claims(claims{"email_verified": false})),
	} {
		t.Run("a token "+sentence+" is refused", func(t *testing.T) {
			if user, err := whoIs(t, p, token); !apierrors.IsUnauthorized(err) {
				t.Errorf("user %+v, error %v, want Unauthorized", user, err)
			}
		})
	}
	t.Run("others come as before", func(t *testing.T) {
		if _, err := fromKubeconfig(t, p.Kubeconfig()).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
		request, err := clientOf(t, p).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if user, err := whoIs(t, p, request.Status.Token); err != nil || user.Username != "system:serviceaccount:default:default" {
			t.Errorf("user %+v, error %v", user, err)
		}
		seenByStrangers(t, p, map[string]int{"/readyz": http.StatusOK, "/version": http.StatusUnauthorized, "/api/v1/namespaces": http.StatusUnauthorized})
	})
}

// mayWhatRolesSay: the group of the token may view the default namespace, and nothing more.
func mayWhatRolesSay(t *testing.T, p *ControlPlane, token string) {
	core := bearer(t, p, token).CoreV1()
	if _, err := core.ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v, want forbidden", err)
	}
	_, err := clientOf(t, p).RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "platform"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "oidc:platform"}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role counts", func() error {
		_, err := core.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		return err
	})
	if _, err := core.Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("view lists Secrets: %v, want forbidden", err)
	}
	if _, err := core.ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: %v, want forbidden", err)
	}
}

func TestAChangedAuthenticationConfigCountsWithoutARestart(t *testing.T) {
	i, options, log := newOIDCIssuer(t), testOptions(t.TempDir()), &proctest.Log{}
	options.AuthenticationConfig = filepath.Join(t.TempDir(), "authentication.yaml")
	options.Log = slog.New(slog.NewTextHandler(log, nil))
	i.configure(t, options.AuthenticationConfig, "yuba")
	p := startIn(t, options)
	before, after := sign(t, i.key, i.claims(nil)), sign(t, i.key, i.claims(claims{"aud": "yuba-two"}))
	accepted(t, p, before)

	i.configure(t, options.AuthenticationConfig, "yuba-two")
	accepted(t, p, after)
	eventually(t, "the old audience is refused", func() error {
		if _, err := whoIs(t, p, before); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("error %v, want Unauthorized", err)
		}
		return nil
	})

	if err := os.WriteFile(options.AuthenticationConfig, []byte("jwt: nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log tells of the damaged file", func() error {
		if log.Count("failed to load authentication config") == 0 {
			return fmt.Errorf("the log does not say so:\n%s", log.Text())
		}
		return nil
	})
	if _, err := whoIs(t, p, after); err != nil {
		t.Errorf("after the file was damaged: %v", err)
	}
}

func TestAuthenticationConfigIsCheckedBeforeAnythingIsTouched(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	for sentence, test := range map[string]struct{ text, want string }{
		"not YAML":                {"{", "authentication.yaml"},
		"of another kind":         {"apiVersion: audit.k8s.io/v1\nkind: Policy\n", "no kind \"Policy\" is registered"},
		"with an unknown field":   {head + "jwts: []\n", `unknown field "jwts"`},
		"with an issuer in clear": {head + "jwt: [{issuer: {url: 'http://example.com', audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]\n", "URL scheme must be https"},
		"without an audience":     {head + "jwt: [{issuer: {url: 'https://example.com'}, claimMappings: {username: {claim: sub, prefix: ''}}}]\n", "audiences"},
	} {
		t.Run(sentence, func(t *testing.T) {
			options := testOptions(filepath.Join(t.TempDir(), "data"))
			options.AuthenticationConfig = filepath.Join(t.TempDir(), "authentication.yaml")
			if err := os.WriteFile(options.AuthenticationConfig, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			refusedToStart(t, options, test.want)
		})
	}
	t.Run("missing", func(t *testing.T) {
		options := testOptions(filepath.Join(t.TempDir(), "data"))
		options.AuthenticationConfig = "missing.yaml"
		refusedToStart(t, options, "missing.yaml: no such file")
	})
}

func refusedToStart(t *testing.T, options Options, want string) {
	t.Helper()
	p, err := Start(t.Context(), options)
	if err == nil {
		stop(t, p)
	}
	if err == nil || !strings.Contains(err.Error(), "--authentication-config") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says --authentication-config and %q", err, want)
	}
	if _, err := os.Stat(options.DataDir); !os.IsNotExist(err) {
		t.Errorf("the data directory is there: %v", err)
	}
}

func TestAnAuthenticationConfigMaySayWhoNeedsNoCredentials(t *testing.T) {
	options := testOptions(t.TempDir())
	options.AuthenticationConfig = filepath.Join(t.TempDir(), "authentication.yaml")
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: true, conditions: [{path: /livez}]}\n"
	if err := os.WriteFile(options.AuthenticationConfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startIn(t, options)
	seenByStrangers(t, p, map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusUnauthorized, "/version": http.StatusUnauthorized})
}

func TestTheDocumentedAuthenticationConfigIsValid(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/users-and-oidc.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```yaml\napiVersion: apiserver.config.k8s.io")
	text, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the page shows no authentication configuration")
	}
	path := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: apiserver.config.k8s.io"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckAuthenticationConfig(path); err != nil {
		t.Error(err)
	}
}
