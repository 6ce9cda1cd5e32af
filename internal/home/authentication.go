// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// public lists the paths that need no credentials, because probes have none.
var public = []apiserver.AnonymousAuthCondition{{Path: "/livez"}, {Path: "/readyz"}, {Path: "/healthz"}}

// CheckAuthenticationConfig validates a file for Options.AuthenticationConfig before anything
// starts.
func CheckAuthenticationConfig(path string) error {
	_, err := anonymousIsSet(path)
	return err
}

// anonymousIsSet reports whether the authentication config decides about anonymous requests.
func anonymousIsSet(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	from := kubeoptions.NewBuiltInAuthenticationOptions()
	from.AuthenticationConfigFile = path
	config, err := from.ToAuthenticationConfig()
	if err != nil {
		return false, fmt.Errorf("--authentication-config %s: %w", path, err)
	}
	return config.AuthenticationConfig.Anonymous != nil, nil
}

// admitProbes lets anonymous requests read health and nothing else. The API server's own setting is
// in the file that lists the issuers, which belongs to the user.
func admitProbes(authentication *genericapiserver.AuthenticationInfo) {
	authentication.Authenticator = union.NewFailOnError(authentication.Authenticator, anonymous.NewAuthenticator(public))
}
