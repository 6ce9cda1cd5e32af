// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// azureStore is a client of Azure Blob Storage.
type azureStore struct{ client *container.Client }

func (b *Bucket) openAzure() (store, error) {
	endpoint, err := url.Parse(b.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.User != nil || endpoint.Scheme != "https" && (endpoint.Scheme != "http" || !b.Insecure) {
		return nil, upstream.Stalled(reasonURLInvalid, nil, "spec.endpoint must be a URL such as https://account.blob.core.windows.net; one with http:// needs spec.insecure")
	}
	client, err := b.httpClient()
	if err != nil {
		return nil, err
	}
	common := policy.ClientOptions{Transport: client, Retry: policy.RetryOptions{MaxRetries: 1}, InsecureAllowCredentialWithHTTP: b.Insecure}
	options := &container.ClientOptions{ClientOptions: common}
	address := endpoint.JoinPath(b.Name)
	var opened *container.Client
	switch {
	case b.Identity:
		opened, err = container.NewClient(address.String(), identity.Azure(context.Background()), options)
	case b.Credentials == nil:
		opened, err = container.NewClientWithNoCredential(address.String(), options)
	case b.credential(tenantID) != "" && b.credential(clientID) != "":
		var who azcore.TokenCredential
		if who, err = b.azureIdentity(common); err != nil {
			return nil, err
		}
		opened, err = container.NewClient(address.String(), who, options)
	case b.credential(accountKey) != "":
		var who *container.SharedKeyCredential
		account, _, _ := strings.Cut(endpoint.Hostname(), ".")
		if who, err = container.NewSharedKeyCredential(account, b.credential(accountKey)); err == nil {
			opened, err = container.NewClientWithSharedKeyCredential(address.String(), who, options)
		}
	case b.credential(sasKey) != "":
		if address.RawQuery, err = b.sasQuery(endpoint); err == nil {
			opened, err = container.NewClientWithNoCredential(address.String(), options)
		}
	case b.credential(clientID) != "":
		return nil, upstream.Stalled(reasonAuthentication, nil, "clientId without tenantId requests a managed identity of this server's machine, which sources may not use; "+
			"add tenantId and clientSecret to the Secret of spec.secretRef, or use accountKey or sasKey")
	default:
		return nil, badCredentials("the Secret of spec.secretRef needs accountKey, or sasKey, or tenantId, clientId and clientSecret (or clientCertificate)", nil)
	}
	if err != nil {
		return nil, badCredentials("the credentials in the Secret of spec.secretRef are not valid Azure credentials", err)
	}
	return &azureStore{opened}, nil
}

// azureIdentity returns the credential of an Entra ID application.
func (b *Bucket) azureIdentity(options policy.ClientOptions) (azcore.TokenCredential, error) {
	if host := b.credential(authorityHost); host != "" {
		options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: host}
	}
	var who azcore.TokenCredential
	var err error
	switch {
	case b.credential(clientSecret) != "":
		who, err = azidentity.NewClientSecretCredential(b.credential(tenantID), b.credential(clientID), b.credential(clientSecret),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	case b.credential(clientCertificate) != "":
		certificates, key, parse := azidentity.ParseCertificates(b.Credentials[clientCertificate], b.Credentials[clientCertificatePassword])
		if err = parse; err == nil {
			chain := b.credential(clientCertificateSendsChain)
			who, err = azidentity.NewClientCertificateCredential(b.credential(tenantID), b.credential(clientID), certificates, key,
				&azidentity.ClientCertificateCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true, SendCertificateChain: chain == "1" || strings.EqualFold(chain, "true")})
		}
	default:
		return nil, badCredentials("the Secret of spec.secretRef needs clientSecret or clientCertificate beside tenantId and clientId", nil)
	}
	if err != nil {
		return nil, badCredentials("tenantId, clientId and clientSecret or clientCertificate in the Secret of spec.secretRef are not valid Azure credentials", err)
	}
	return who, nil
}

// sasQuery returns the query of a shared access signature.
func (b *Bucket) sasQuery(endpoint *url.URL) (string, error) {
	values, err := url.ParseQuery(strings.TrimPrefix(b.credential(sasKey), "?"))
	if err != nil {
		return "", err
	}
	for name, value := range endpoint.Query() {
		if !values.Has(name) {
			values[name] = value
		}
	}
	return values.Encode(), nil
}

// azureETag adds the quotes that Flux's revisions have and lists lack.
func azureETag(etag *azcore.ETag) string {
	if etag == nil || *etag == "" {
		return ""
	}
	return `"` + trimETag(string(*etag)) + `"`
}

func (s *azureStore) list(ctx context.Context, prefix string, visit func(object) error) error {
	options := &container.ListBlobsFlatOptions{}
	if prefix != "" {
		options.Prefix = &prefix
	}
	pages, marker := s.client.NewListBlobsFlatPager(options), ""
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		if page.NextMarker != nil && *page.NextMarker != "" {
			if *page.NextMarker == marker {
				return errMalformed
			}
			marker = *page.NextMarker
		}
		if page.Segment == nil {
			continue
		}
		for _, item := range page.Segment.BlobItems {
			if item == nil || item.Name == nil {
				continue
			}
			o := object{key: *item.Name, size: -1}
			if p := item.Properties; p != nil {
				o.etag = azureETag(p.ETag)
				if p.ContentLength != nil {
					o.size = *p.ContentLength
				}
			}
			if err := visit(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *azureStore) open(ctx context.Context, o object) (content, error) {
	etag := azcore.ETag(o.etag)
	return unlessChanged(s.get(ctx, o.key, &blob.DownloadStreamOptions{AccessConditions: &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag},
	}}))
}

func (s *azureStore) peek(ctx context.Context, key string) (content, error) {
	c, err := s.get(ctx, key, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return content{}, errGone
	}
	return c, err
}

func (s *azureStore) get(ctx context.Context, key string, options *blob.DownloadStreamOptions) (content, error) {
	out, err := s.client.NewBlobClient(key).DownloadStream(upstream.Content(ctx), options)
	if err != nil {
		return content{}, err
	}
	return content{out.Body, azureETag(out.ETag)}, nil
}
