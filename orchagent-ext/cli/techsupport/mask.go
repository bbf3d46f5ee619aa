// SPDX-License-Identifier: Apache-2.0

package techsupport

import "regexp"

// mask replaces a secret.
const mask = "(masked)"

// secret matches a part of the names of fields that hold secrets.
const secret = `(?:passw(?:or)?d|pwd|passphrase|passkey|passcode|secret|token|credential|community|psk|(?:private|api|auth|shared|encryption|hmac|master)[-_. ]?key)`

// Patterns of names and of values with secrets.
var (
	secretName = regexp.MustCompile(`(?i)` + secret)

	// pathName matches fields that name a file, such as key_file, whose path may be shown.
	pathName = regexp.MustCompile(`(?i)[-_](file|path|dir)$`)

	// userInfo is the user and the password in a URL.
	userInfo = regexp.MustCompile(`(://)[^/@\s,;"']+@`)

	// assigned is NAME=value, NAME: value or "NAME": "value" in text; flagged is
	// --name value.
	assigned = regexp.MustCompile(`(?i)([-\w.]*` + secret + `[-\w.]*)("?\s*[=:]\s*)` + value)
	flagged  = regexp.MustCompile(`(?i)(--[-\w.]*` + secret + `[-\w.]*)(\s+)` + value)

	// hashed is a password's hash as crypt and bcrypt write it; header is the login of HTTP
	// and gRPC; webToken is a JSON one.
	hashed   = regexp.MustCompile(`\$(?:[0-9a-z]{1,2}|sha1|scrypt|argon2[a-z]*)\$[^\s:;,"']+`)
	header   = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer\s|basic\s)?)\s*[-\w.~+/]+=*`)
	webToken = regexp.MustCompile(`\beyJ[-\w]+\.[-\w]+(?:\.[-\w]*)?`)

	// privateKey is one as a file has it, perhaps cut off.
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// value is one in text, in quotes where it has blanks.
const value = `("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s",;]+)`

// Masked returns the value of a field, or mask if the field's name looks like that of a
// secret; passwords in URLs, their hashes, private keys and tokens are masked in every
// field. A row about a field of another row, as in SLUICE_CONFIG_ERROR, is judged by that
// field's name.
func Masked(fields map[string]string, name string) string {
	text := fields[name]
	if text == "" {
		return ""
	}
	if isSecret(name) || name == "value" && isSecret(fields["field"]) {
		return mask
	}
	return maskText(text)
}

// isSecret reports whether a field's name is that of a secret, unless it is the path of a
// file.
func isSecret(name string) bool {
	return secretName.MatchString(name) && !pathName.MatchString(name)
}

// maskText masks parts of a text that look like secrets.
func maskText(text string) string {
	text = privateKey.ReplaceAllString(text, mask)
	text = hashed.ReplaceAllString(text, mask)
	text = header.ReplaceAllString(text, "${1}"+mask)
	text = webToken.ReplaceAllString(text, mask)
	text = userInfo.ReplaceAllString(text, "${1}"+mask+"@")
	for _, form := range []*regexp.Regexp{assigned, flagged} {
		text = form.ReplaceAllStringFunc(text, func(found string) string {
			part := form.FindStringSubmatch(found)
			if !isSecret(part[1]) {
				return found
			}
			return part[1] + part[2] + mask
		})
	}
	return text
}
