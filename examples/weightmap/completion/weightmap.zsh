#compdef weightmap
# Completes weightmap in zsh.
_weightmap() {
	local -a lines names shown
	local line
	lines=("${(@f)$(${~words[1]} completion -complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $lines[1] == files ]]; then
		_files
		return
	fi
	for line in "${(@)lines[2,-1]}"; do
		names+=("${line%%$'\t'*}")
		shown+=("${line/$'\t'/  -- }")
	done
	compadd -l -d shown -a -- names
}
if [[ $funcstack[1] == _weightmap ]]; then
	_weightmap "$@"
else
	compdef _weightmap weightmap
fi
