"""What Streamlit serves: the front door, its look, its fonts.

A folder of its own, because Streamlit takes a folder `pages` beside the script that it runs for its pages.
"""
