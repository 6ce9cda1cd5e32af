// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
)

// credentials opens stores with the Secrets that they may use.
type credentials struct {
	r *Reconciler
	// namespace is that of the SecretStore, or of the ExternalSecret that uses a ClusterSecretStore.
	namespace   string
	clusterWide bool
	// absent: a ClusterSecretStore is checked by itself, so credentials in the namespaces of users are not known.
	absent bool
}

// errReferent means that credentials are in the namespace of each user.
var errReferent = fmt.Errorf("its credentials are in the namespace of each ExternalSecret")

// place is where a named object is.
func (c *credentials) place(what, name string, namespace *string) (types.NamespacedName, error) {
	key := types.NamespacedName{Namespace: c.namespace, Name: name}
	switch {
	case name == "":
		return key, problem("%s names no object", what)
	case namespace == nil && c.absent:
		return key, errReferent
	case namespace == nil:
	case c.clusterWide:
		key.Namespace = *namespace
	case *namespace != c.namespace:
		return key, problem("%s names the namespace %s: a SecretStore uses only objects of its own namespace", what, *namespace)
	}
	return key, nil
}

// value reads a key of a Secret.
func (c *credentials) value(ctx context.Context, what string, ref *externalv1.SecretKeySelector, key string) (string, error) {
	if ref == nil {
		return "", problem("%s is missing", what)
	}
	name, err := c.place(what, ref.Name, ref.Namespace)
	if err != nil {
		return "", err
	}
	s, err := c.r.secret(ctx, name)
	if err != nil {
		return "", err
	}
	if s == nil {
		return "", problem("%s names Secret %s, which does not exist", what, name)
	}
	key = cmp.Or(ref.Key, key)
	value, ok := s.Data[key]
	if !ok || len(value) == 0 {
		return "", problem("%s names the key %q, which Secret %s does not have", what, key, name)
	}
	return strings.TrimSpace(string(value)), nil
}

// open returns the store of a spec.
func (c *credentials) open(ctx context.Context, spec *externalv1.SecretStoreSpec) (remote.Store, error) {
	p := spec.Provider
	switch {
	case p == nil:
		return nil, problem("spec.provider is missing")
	case p.Vault != nil:
		return c.vault(ctx, p.Vault)
	case p.AWS != nil:
		return c.aws(ctx, p.AWS)
	case p.GCPSM != nil:
		return c.google(ctx, p.GCPSM)
	case p.AzureKV != nil:
		return c.azure(ctx, p.AzureKV)
	}
	return nil, problem("spec.provider names a provider that Yuba does not read: it reads vault, aws, gcpsm and azurekv")
}

// secure fails if credentials would be sent in clear text. On this machine they may be.
func secure(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return problem("%s is %q, want https://HOST", what, address)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return problem("%s is %q: credentials are not sent in clear text. Use https", what, address)
	}
	return nil
}

func (c *credentials) vault(ctx context.Context, p *externalv1.VaultProvider) (remote.Store, error) {
	if err := secure("provider.vault.server", p.Server); err != nil {
		return nil, err
	}
	roots, err := c.authorities(ctx, p.CABundle, p.CAProvider)
	if err != nil {
		return nil, err
	}
	v := &remote.Vault{Server: p.Server, V1: p.Version == "v1", Tokens: c.r.tokens(), Client: remote.Client(c.r.Reachable, roots)}
	if p.Path != nil {
		v.Mount = *p.Path
	}
	if p.Namespace != nil {
		v.Namespace = *p.Namespace
	}
	if v.Login, err = c.login(ctx, p.Auth); err != nil {
		return nil, err
	}
	return v, nil
}

// authorities are those of a server; nil for the system's.
func (c *credentials) authorities(ctx context.Context, bundle []byte, from *externalv1.CAProvider) (*x509.CertPool, error) {
	const what = "provider.vault.caProvider"
	switch {
	case len(bundle) > 0 || from == nil:
	case from.Type == "Secret":
		text, err := c.value(ctx, what, &externalv1.SecretKeySelector{Name: from.Name, Namespace: from.Namespace, Key: from.Key}, "ca.crt")
		if err != nil {
			return nil, err
		}
		bundle = []byte(text)
	default:
		name, err := c.place(what, from.Name, from.Namespace)
		if err != nil {
			return nil, err
		}
		var m corev1.ConfigMap
		if err := c.r.Direct.Get(ctx, name, &m); apierrors.IsNotFound(err) {
			return nil, problem("%s names ConfigMap %s, which does not exist", what, name)
		} else if err != nil {
			return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		bundle = []byte(m.Data[cmp.Or(from.Key, "ca.crt")])
		if len(bundle) == 0 {
			return nil, problem("%s names the key %q, which ConfigMap %s does not have", what, cmp.Or(from.Key, "ca.crt"), name)
		}
	}
	if len(bundle) == 0 {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, problem("the certificates of provider.vault.caBundle or caProvider are not PEM")
	}
	return roots, nil
}

// login is how to log in to a Vault.
func (c *credentials) login(ctx context.Context, a *externalv1.VaultAuth) (l remote.VaultLogin, err error) {
	if a == nil {
		return l, problem("provider.vault.auth is missing: the server does not lend its own identity")
	}
	if a.Namespace != nil {
		l.Namespace = *a.Namespace
	}
	const at = "provider.vault.auth."
	secret := func(what string, ref *externalv1.SecretKeySelector, key string) string {
		var value string
		if err == nil {
			value, err = c.value(ctx, at+what, ref, key)
		}
		return value
	}
	switch {
	case a.TokenSecretRef != nil:
		l.Token = secret("tokenSecretRef", a.TokenSecretRef, "token")
	case a.AppRole != nil:
		role := a.AppRole.RoleID
		if a.AppRole.RoleRef != nil {
			role = secret("appRole.roleRef", a.AppRole.RoleRef, "")
		}
		l.Path, l.Body = path(a.AppRole.Path, "approle")+"/login", map[string]string{"role_id": role, "secret_id": secret("appRole.secretRef", &a.AppRole.SecretRef, "")}
	case a.Kubernetes != nil && a.Kubernetes.SecretRef != nil:
		l.Path, l.Body = path(a.Kubernetes.Path, "kubernetes")+"/login", map[string]string{"role": a.Kubernetes.Role, "jwt": secret("kubernetes.secretRef", a.Kubernetes.SecretRef, "token")}
	case a.Jwt != nil && a.Jwt.SecretRef != nil:
		l.Path, l.Body = path(a.Jwt.Path, "jwt")+"/login", map[string]string{"role": a.Jwt.Role, "jwt": secret("jwt.secretRef", a.Jwt.SecretRef, "token")}
	case a.UserPass != nil:
		l.Path, l.Body = path(a.UserPass.Path, "userpass")+"/login/"+url.PathEscape(a.UserPass.Username), map[string]string{"password": secret("userPass.secretRef", &a.UserPass.SecretRef, "password")}
	case a.Ldap != nil:
		l.Path, l.Body = path(a.Ldap.Path, "ldap")+"/login/"+url.PathEscape(a.Ldap.Username), map[string]string{"password": secret("ldap.secretRef", &a.Ldap.SecretRef, "password")}
	default:
		return l, problem("provider.vault.auth names no method that Yuba uses: tokenSecretRef, appRole, userPass, ldap, and kubernetes or jwt with a secretRef")
	}
	return l, err
}

// path is the mount of a method, escaped.
func path(mount, usual string) string {
	parts := strings.Split(strings.Trim(cmp.Or(mount, usual), "/"), "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// outside reaches a cloud: its own names may have private addresses in a virtual network.
func (c *credentials) outside() *http.Client { return remote.Any() }

func (c *credentials) aws(ctx context.Context, p *externalv1.AWSProvider) (remote.Store, error) {
	const at = "provider.aws.auth.secretRef."
	ref := p.Auth.SecretRef
	switch {
	case ref == nil:
		return nil, problem("provider.aws.auth.secretRef is missing: the server does not lend its own identity, and service accounts (jwt) are not supported")
	case p.Role != "" || len(p.AdditionalRoles) > 0:
		return nil, problem("provider.aws.role is not supported yet: use keys that may read the secrets")
	case !regionRE.MatchString(p.Region):
		return nil, problem("provider.aws.region is %q, want one such as eu-central-1", p.Region)
	}
	keys := store.Keys{}
	var err error
	if keys.ID, err = c.value(ctx, at+"accessKeyIDSecretRef", &ref.AccessKeyID, ""); err != nil {
		return nil, err
	}
	if keys.Secret, err = c.value(ctx, at+"secretAccessKeySecretRef", &ref.SecretAccessKey, ""); err != nil {
		return nil, err
	}
	if ref.SessionToken != nil {
		if keys.Session, err = c.value(ctx, at+"sessionTokenSecretRef", ref.SessionToken, ""); err != nil {
			return nil, err
		}
	}
	a := store.AWS{Region: p.Region, Keys: keys, Client: c.outside(), Endpoint: c.r.Endpoints.SecretsManager}
	if p.Service == externalv1.AWSParameterStore {
		a.Endpoint = c.r.Endpoints.ParameterStore
		return &remote.Parameters{AWS: a, Prefix: p.Prefix}, nil
	}
	return &remote.SecretsManager{AWS: a, Prefix: p.Prefix}, nil
}

func (c *credentials) google(ctx context.Context, p *externalv1.GCPSMProvider) (remote.Store, error) {
	if p.Auth.SecretRef == nil {
		return nil, problem("provider.gcpsm.auth.secretRef is missing: the server does not lend its own identity, and workload identity is not supported")
	}
	if p.ProjectID == "" {
		return nil, problem("provider.gcpsm.projectID is missing")
	}
	if p.Location != "" && !locationRE.MatchString(p.Location) {
		return nil, problem("provider.gcpsm.location is %q, want one such as europe-west3", p.Location)
	}
	text, err := c.value(ctx, "provider.gcpsm.auth.secretRef.secretAccessKeySecretRef", &p.Auth.SecretRef.SecretAccessKey, "")
	if err != nil {
		return nil, err
	}
	// The key names where it gets tokens, so its author must not reach this network.
	key, err := remote.NewGoogleKey([]byte(text), remote.Client(c.r.Reachable, nil))
	if err != nil {
		return nil, problem("%v", err)
	}
	key.Tokens = c.r.tokens()
	return &remote.Google{Project: p.ProjectID, Location: p.Location, OrFetch: p.SecretVersionSelectionPolicy == externalv1.LatestOrFetch,
		Endpoint: c.r.Endpoints.Google, Token: key, Client: c.outside()}, nil
}

// authorities of Azure's clouds, and the services that tokens are for.
var azureClouds = map[string][2]string{
	"":                  {remote.AzureAuthority, remote.AzureResource},
	"PublicCloud":       {remote.AzureAuthority, remote.AzureResource},
	"USGovernmentCloud": {"https://login.microsoftonline.us", "https://vault.usgovcloudapi.net"},
	"ChinaCloud":        {"https://login.chinacloudapi.cn", "https://vault.azure.cn"},
	"GermanCloud":       {"https://login.microsoftonline.de", "https://vault.microsoftazure.de"},
}

func (c *credentials) azure(ctx context.Context, p *externalv1.AzureKVProvider) (remote.Store, error) {
	const at = "provider.azurekv."
	if p.AuthType != nil && *p.AuthType != "ServicePrincipal" {
		return nil, problem("%sauthType is %s: only ServicePrincipal is supported, as the server does not lend its own identity", at, *p.AuthType)
	}
	if p.VaultURL == nil || p.AuthSecretRef == nil {
		return nil, problem("%svaultUrl and %[1]sauthSecretRef are needed", at)
	}
	if err := secure(at+"vaultUrl", *p.VaultURL); err != nil {
		return nil, err
	}
	cloud, known := azureClouds[p.EnvironmentType]
	if custom := p.CustomCloudConfig; !known && custom != nil {
		if err := secure(at+"customCloudConfig.activeDirectoryEndpoint", custom.ActiveDirectoryEndpoint); err != nil {
			return nil, err
		}
		cloud = [2]string{custom.ActiveDirectoryEndpoint, remote.AzureResource}
		if custom.KeyVaultEndpoint != nil {
			cloud[1] = *custom.KeyVaultEndpoint
		}
	} else if !known {
		return nil, problem("%senvironmentType %s needs customCloudConfig", at, p.EnvironmentType)
	}
	client := remote.Client(c.r.Reachable, nil)
	principal := &remote.AzurePrincipal{Authority: cloud[0], Resource: cloud[1], Client: client, Tokens: c.r.tokens()}
	var err error
	if principal.ClientID, err = c.value(ctx, at+"authSecretRef.clientId", p.AuthSecretRef.ClientID, ""); err != nil {
		return nil, err
	}
	if principal.Secret, err = c.value(ctx, at+"authSecretRef.clientSecret", p.AuthSecretRef.ClientSecret, ""); err != nil {
		return nil, err
	}
	if p.TenantID != nil {
		principal.Tenant = *p.TenantID
	} else if principal.Tenant, err = c.value(ctx, at+"authSecretRef.tenantId", p.AuthSecretRef.TenantID, ""); err != nil {
		return nil, err
	}
	return &remote.Azure{URL: *p.VaultURL, Token: principal, Client: client}, nil
}
