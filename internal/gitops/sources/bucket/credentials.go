// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

// Names of Secret entries, as in Flux.
const (
	accessKey = "accesskey"
	secretKey = "secretkey"

	serviceAccount = "serviceaccount"

	accountKey                  = "accountKey"
	sasKey                      = "sasKey"
	tenantID                    = "tenantId"
	clientID                    = "clientId"
	clientSecret                = "clientSecret"
	clientCertificate           = "clientCertificate"
	clientCertificatePassword   = "clientCertificatePassword"
	clientCertificateSendsChain = "clientCertificateSendChain"
	authorityHost               = "authorityHost"
)

// credentialNames are all names, to distinguish clients.
var credentialNames = []string{
	accessKey, secretKey, serviceAccount, accountKey, sasKey, tenantID, clientID, clientSecret,
	clientCertificate, clientCertificatePassword, clientCertificateSendsChain, authorityHost,
}

// credential is an entry of the Secret.
func (b *Bucket) credential(name string) string { return string(b.Credentials[name]) }
